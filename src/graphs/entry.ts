import type { RunnableConfig } from "@langchain/core/runnables";
import type { LangGraphRunnableConfig, Pregel } from "@langchain/langgraph";

/** A compiled graph, whatever its state. */
// oxlint-disable-next-line typescript/no-explicit-any -- the state of any graph
export type Graph = Pregel<any, any, any, any, any, any, any, any, any, any, any>;

/** What `createAgent` and `createDeepAgent` return. */
export interface Agent {
  graph: Graph;
}

/** Why the server calls a factory, as `ServerRuntime` of @langchain/langgraph-sdk has it. */
export type ServerRuntime =
  | { accessContext: "threads.create_run"; executionRuntime: { context: unknown } }
  | { accessContext: "assistants.read" | "threads.read" | "threads.update"; executionRuntime: null };
export type Access = ServerRuntime["accessContext"];

/**
 * Makes the graph. `config` has `configurable`, `context`, `metadata` and `tags`: the run's, to run it; those of the thread's
 * last run, to read or update a state; the assistant's, to describe the graph. `env` holds the Worker's variables, secrets
 * and bindings, and says which of these it is.
 */
export type GraphFactory = (
  config: LangGraphRunnableConfig | RunnableConfig,
  env: Env & ServerRuntime,
) => Graph | Agent | Promise<Graph | Agent>;

export type GraphEntry = Graph | Agent | GraphFactory;
