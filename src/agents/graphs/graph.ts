/** The compiled graph of an entry of the registry. */
import "../../runtime/install.ts";
import {
  type Graph,
  Lazy,
  loaded,
  type AuthAccess,
  type GraphEntry,
  type ServerRuntime,
  type BuiltSchemas,
  builtSchemas,
  graphs,
} from "../../deployment.ts";
import {
  type GraphSchemas,
  introspectSchemas as runtimeSchemas,
  subgraphSchemas as runtimeSubgraphs,
} from "../../runtime/introspect.ts";

// From what a project exports as a graph to a compiled graph that Weir runs.

/** The graphs of what a project exports as something else: a `StateGraph` compiled by Weir, or the graph of an agent. They hold no state of a run. */
const compiled = new WeakMap<object, Graph>();

/** The graphs whose own checkpointer or store was reported. */
const reported = new Set<string>();

/**
 * The compiled graph behind `made`: a `StateGraph` is compiled, and what an agent wraps is unwrapped. Throws an Error that
 * says what was found where that is no graph. `graphId` is for error messages.
 */
export function normalise(made: unknown, graphId: string): Graph {
  const graph = findGraph(made);
  if (!graph) throw new TypeError(`Graph "${graphId}" is not a LangGraph graph: it is ${describeValue(made)}.`);
  warnOfOwnStores(graph, graphId);
  return graph;
}

function findGraph(made: unknown): Graph | undefined {
  if (!isObject(made)) return undefined;
  if (isGraph(made)) return made;
  // What `createAgent` and `createDeepAgent` return has some methods of a graph, and the graph itself.
  const known = compiled.get(made);
  if (known) return known;
  const inner = isObject(made.graph) && isGraph(made.graph) ? bindOwnConfig(made, made.graph) : undefined;
  const graph = inner ?? (typeof made.compile === "function" ? (made.compile as () => unknown)() : undefined);
  if (!isObject(graph) || !isGraph(graph)) return undefined;
  compiled.set(made, graph);
  return graph;
}

/**
 * The agent's graph with what `agent.withConfig` binds, as `createDeepAgent` does with its recursion limit. The agent keeps it
 * private, and merges it into the config of each call: it is read from a call that reaches no graph.
 */
function bindOwnConfig(agent: { streamEvents?: unknown }, graph: Graph): Graph {
  if (typeof agent.streamEvents !== "function") return graph;
  let bound: Config = {};
  const value = (_input: unknown, given: Config) => {
    const { version: _, ...config } = given;
    bound = config;
  };
  Object.defineProperty(graph, "streamEvents", { value, configurable: true });
  try {
    Promise.resolve(agent.streamEvents(null, { version: "v2" })).catch(() => undefined);
  } catch {
    // It is no agent of LangChain, and binds nothing that is known.
  } finally {
    delete (graph as { streamEvents?: unknown }).streamEvents;
  }
  return Object.keys(bound).length === 0 ? graph : graph.withConfig(bound);
}

/** Not by its class: a project may have another copy of LangGraph than the server. */
const isGraph = (value: object): value is Graph => "lg_is_pregel" in value && value.lg_is_pregel === true;

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

function describeValue(value: unknown): string {
  if (!isObject(value)) return value === null || value === undefined ? String(value) : `a ${typeof value}`;
  const members = Object.keys(value).slice(0, 5);
  return `an object with ${members.length > 0 ? `the members ${members.join(", ")}` : "no members"}`;
}

/** A thread keeps its checkpoints itself, so what the graph was compiled with is not used. Says so once. */
function warnOfOwnStores(graph: Graph, graphId: string): void {
  const own = [graph.checkpointer && typeof graph.checkpointer === "object" && "checkpointer", graph.store && "store"];
  const names = own.filter((name) => typeof name === "string");
  if (names.length === 0 || reported.has(graphId)) return;
  reported.add(graphId);
  const message = `Graph "${graphId}" is compiled with a ${names.join(" and a ")} of its own. Weir uses its own instead.`;
  console.warn(JSON.stringify({ level: "warn", graph_id: graphId, message }));
}

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
export async function makeGraph(
  graphId: string,
  config: Config,
  env: Env,
  access: AuthAccess,
): Promise<Graph | undefined> {
  const entry = await loadEntry(graphId);
  if (entry === undefined) return undefined;
  const made = await (typeof entry === "function"
    ? entry(config, { ...env, ...createRuntime(config, access) })
    : entry);
  return normalise(made, graphId);
}

export const isFactory = async (graphId: string): Promise<boolean> => typeof (await loadEntry(graphId)) === "function";

function createRuntime(config: Config, access: AuthAccess): ServerRuntime {
  return access === "threads.create_run"
    ? { accessContext: access, executionRuntime: { context: config.context } }
    : { accessContext: access, executionRuntime: null };
}

// JSON Schemas of graphs that are typed only in TypeScript, read from their types when the project was built.

/** The schemas of a graph: those that it has at run time, else those of its types, else the names of its channels. */
export async function readSchemas(graphId: string, graph: Graph): Promise<GraphSchemas> {
  return runtimeSchemas(graph, findBuiltSchemas(graphId));
}

/** The same of a graph's subgraphs by namespace; `recurse` adds theirs. */
export async function readSubgraphSchemas(
  graphId: string,
  graph: Graph,
  namespace: string | undefined,
  recurse: boolean,
): Promise<Record<string, GraphSchemas>> {
  return runtimeSubgraphs(graph, namespace, recurse, findBuiltSchemas(graphId)?.subgraphs);
}

const findBuiltSchemas = (graphId: string): BuiltSchemas | undefined =>
  Object.hasOwn(builtSchemas, graphId) ? builtSchemas[graphId] : undefined;
