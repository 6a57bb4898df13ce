/** The compiled graph behind an entry of the registry. */
import { loaded } from "../lazy.ts";
import { type Access, type Agent, type Graph, type GraphEntry, type ServerRuntime } from "./entry.ts";
import { graphs } from "./index.ts";

type Config = Record<string, unknown>;

/** What is registered under this id, its module loaded; undefined when it is not deployed. */
async function entryOf(graphId: string): Promise<GraphEntry | undefined> {
  const entry = Object.hasOwn(graphs, graphId) ? graphs[graphId] : undefined;
  return entry && loaded(entry);
}

/**
 * The graph of this id; undefined when it is not deployed. A factory gets `config`, and why the server calls it. What an
 * agent wraps is unwrapped.
 */
export async function makeGraph(graphId: string, config: Config, env: Env, access: Access): Promise<Graph | undefined> {
  const entry = await entryOf(graphId);
  if (typeof entry !== "function") return entry && unwrapped(entry);
  const runtime: ServerRuntime =
    access === "threads.create_run"
      ? { accessContext: access, executionRuntime: { context: config.context } }
      : { accessContext: access, executionRuntime: null };
  return unwrapped(await entry(config, { ...env, ...runtime }));
}

/** Whether the graph of this id is made from a config. */
export const isFactory = async (graphId: string): Promise<boolean> => typeof (await entryOf(graphId)) === "function";

/** `createAgent` and `createDeepAgent` return an agent that has some methods of a graph, and the graph itself. */
const unwrapped = (made: Graph | Agent): Graph =>
  "graph" in made && !("lg_is_pregel" in made) ? made.graph : (made as Graph);
