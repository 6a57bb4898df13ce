/** A chat agent that calls tools and streams what it says. */
import { toolLoop } from "./loop.ts";
import { ENV, type ModelEnv } from "./model.ts";
import { calculator, currentTime } from "./tools.ts";

const prompt = "You are a helpful assistant. Use the tools when they give a better answer than memory.";

export const agent = (_config: unknown, env: ModelEnv = ENV) =>
  toolLoop(env, { name: "agent", tools: [calculator, currentTime], prompt });
