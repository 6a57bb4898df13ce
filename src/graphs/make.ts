/** The compiled graph behind an entry of the registry. */
import { type Access, type Graph, type GraphEntry, type ServerRuntime } from "./entry.ts";
import { graphs } from "./index.ts";
import { normalise } from "./normalise.ts";

type Config = Record<string, unknown>;

const entryOf = (graphId: string): GraphEntry | undefined =>
  Object.hasOwn(graphs, graphId) ? graphs[graphId] : undefined;

/**
 * The graph of this id, compiled; undefined when it is not deployed. A factory gets `config`, and why the server calls it.
 * Throws where the project exports no graph, or its factory throws.
 */
export async function makeGraph(graphId: string, config: Config, env: Env, access: Access): Promise<Graph | undefined> {
  const entry = entryOf(graphId);
  if (entry === undefined) return undefined;
  const made = await (typeof entry === "function" ? entry(config, { ...env, ...runtimeOf(config, access) }) : entry);
  return normalise(made, graphId);
}

/** Whether the graph of this id is made from a config. */
export const isFactory = (graphId: string): boolean => typeof entryOf(graphId) === "function";

function runtimeOf(config: Config, access: Access): ServerRuntime {
  return access === "threads.create_run"
    ? { accessContext: access, executionRuntime: { context: config.context } }
    : { accessContext: access, executionRuntime: null };
}
