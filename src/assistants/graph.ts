/** The graph behind an assistant, made only to be described. */
import { graphs } from "../graphs/index.ts";
import type { Graph } from "../graphs/entry.ts";
import { Problem } from "../http/problem.ts";
import type { Assistant } from "./store.ts";

/** The assistant's graph, compiled with the assistant's own configuration. */
export async function graphOf({ graph_id, config, context }: Assistant, env: Env): Promise<Graph> {
  const entry = graphs[graph_id];
  if (!entry) throw new Problem(404, "The graph of this assistant is not deployed any more.");
  return typeof entry === "function" ? entry({ ...config, context }, env) : entry;
}
