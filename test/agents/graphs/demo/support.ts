/** A demo graph with a checkpointer of its own, as the runtime would run it. */
import type { BaseMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import type { Graph } from "../../../../src/deployment.ts";
import { makeGraph } from "../../../../src/agents/graphs/graph.ts";
import "../../../../examples/demo/worker.ts";

/** The environment of a deployment without a key, and with no pause between words. */
const offline = { OFFLINE_MODEL_DELAY_MS: "0" } as Env;

export async function openGraph(name: string, env: Env = offline): Promise<Graph> {
  const graph = await makeGraph(name, {}, env, "assistants.read");
  if (!graph) throw new Error(`No graph ${name}.`);
  graph.checkpointer = new MemorySaver();
  return graph;
}

export const human = (content: string) => ({ messages: [{ role: "user", content }] });
export const onThread = (thread_id: string) => ({ configurable: { thread_id } });
export const lastText = (state: { messages: BaseMessage[] }) => state.messages.at(-1)?.text ?? "";
