/** The graph of an assistant, built only for inspection. */
import type { Graph } from "../deployment.ts";
import { makeGraph } from "../agents/graphs/graph.ts";
import { Problem } from "../lib/problem.ts";
import type { Assistant } from "../agents/assistants/store.ts";

/** The parts of an assistant that its graph is built from. */
export type OfGraph = Pick<Assistant, "graph_id" | "config" | "context">;

/** The assistant's graph, compiled with the assistant's own configuration. */
export async function loadGraph({ graph_id, config, context }: OfGraph, env: Env): Promise<Graph> {
  const graph = await makeGraph(graph_id, { ...config, context }, env, "assistants.read");
  if (!graph) throw new Problem(404, "The graph of this assistant is no longer deployed.");
  return graph;
}

/** The keys of the graph's state. Undefined for a graph that cannot be built: its run reports the error. */
export async function readChannels(assistant: OfGraph, env: Env): Promise<Set<string> | undefined> {
  const graph = await loadGraph(assistant, env).catch(() => undefined);
  return graph && new Set(Object.keys(graph.channels));
}

/** Whether the graph's state has a `messages` key. True also for a graph that cannot be built. */
export async function hasMessages(assistant: OfGraph, env: Env): Promise<boolean> {
  const channels = await readChannels(assistant, env);
  return channels === undefined || channels.has("messages");
}
