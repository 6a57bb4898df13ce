/** The compiled graph behind an entry of the registry. */
import { type Access, type Agent, type Graph, type ServerRuntime } from "./entry.ts";
import { graphs } from "./index.ts";

type Config = Record<string, unknown>;

/**
 * The graph of this id; undefined when it is not deployed. A factory gets `config`, and why the server calls it. What an
 * agent wraps is unwrapped.
 */
export async function makeGraph(graphId: string, config: Config, env: Env, access: Access): Promise<Graph | undefined> {
  const entry = Object.hasOwn(graphs, graphId) ? graphs[graphId] : undefined;
  if (typeof entry !== "function") return entry && unwrapped(entry);
  const runtime: ServerRuntime =
    access === "threads.create_run"
      ? { accessContext: access, executionRuntime: { context: config.context } }
      : { accessContext: access, executionRuntime: null };
  return unwrapped(await entry(config, { ...env, ...runtime }));
}

/** Whether the graph of this id is made from a config. */
export const isFactory = (graphId: string): boolean =>
  Object.hasOwn(graphs, graphId) && typeof graphs[graphId] === "function";

/** `createAgent` and `createDeepAgent` return an agent that has some methods of a graph, and the graph itself. */
const unwrapped = (made: Graph | Agent): Graph =>
  "graph" in made && !("lg_is_pregel" in made) ? made.graph : (made as Graph);
