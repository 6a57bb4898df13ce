/** The compiled graph of an entry of the registry. */
import { Lazy, loaded } from "../../deployment.ts";
import { type Access, type Graph, type GraphEntry, type ServerRuntime } from "../../deployment.ts";
import { graphs } from "../../deployment.ts";
import { normalise } from "../../graphs/normalise.ts";

type Config = Record<string, unknown>;

const findRegistered = (graphId: string) => (Object.hasOwn(graphs, graphId) ? graphs[graphId] : undefined);

/** What is registered under this id, its module loaded; undefined when it is not deployed. */
async function loadEntry(graphId: string): Promise<GraphEntry | undefined> {
  const entry = findRegistered(graphId);
  return entry && loaded(entry);
}

/** What the graph's module exports beside the graph under this name. */
export async function readSibling(graphId: string, name: string): Promise<unknown> {
  const entry = findRegistered(graphId);
  return entry instanceof Lazy ? entry.sibling(name) : undefined;
}

/**
 * The graph of this id, compiled; undefined when it is not deployed. A factory gets `config`, and why the server calls it.
 * Throws where the project exports no graph, or its factory throws.
 */
export async function makeGraph(graphId: string, config: Config, env: Env, access: Access): Promise<Graph | undefined> {
  const entry = await loadEntry(graphId);
  if (entry === undefined) return undefined;
  const made = await (typeof entry === "function"
    ? entry(config, { ...env, ...createRuntime(config, access) })
    : entry);
  return normalise(made, graphId);
}

export const isFactory = async (graphId: string): Promise<boolean> => typeof (await loadEntry(graphId)) === "function";

function createRuntime(config: Config, access: Access): ServerRuntime {
  return access === "threads.create_run"
    ? { accessContext: access, executionRuntime: { context: config.context } }
    : { accessContext: access, executionRuntime: null };
}
