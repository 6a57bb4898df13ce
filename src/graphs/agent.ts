/** A chat agent that calls tools and streams what it says. */
import type { GraphFactory } from "./entry.ts";
import { toolLoop } from "./loop.ts";
import { calculator, currentTime } from "./tools.ts";

const prompt = "You are a helpful assistant. Use the tools when they give a better answer than memory.";

export const agent: GraphFactory = (_config, env) =>
  toolLoop(env, { name: "agent", tools: [calculator, currentTime], prompt });
