/** What a project may export as a graph. */
import type { RunnableConfig } from "@langchain/core/runnables";
import type { LangGraphRunnableConfig, Pregel } from "@langchain/langgraph";

/** A compiled graph with any state. */
// oxlint-disable-next-line typescript/no-explicit-any -- the state of any graph
export type Graph = Pregel<any, any, any, any, any, any, any, any, any, any, any>;

/** Why the server calls a factory, as `ServerRuntime` of @langchain/langgraph-sdk has it. */
export type ServerRuntime =
  | { accessContext: "threads.create_run"; executionRuntime: { context: unknown } }
  | { accessContext: "assistants.read" | "threads.read" | "threads.update"; executionRuntime: null };
export type Access = ServerRuntime["accessContext"];

/**
 * A compiled graph, a `StateGraph` that is not compiled, or an agent of `createAgent` or `createDeepAgent`. The type is
 * structural: the classes of two versions of LangGraph are not assignable to each other.
 */
/* oxlint-disable typescript/no-explicit-any -- parameters of any graph of any version */
export type Made = { invoke(...args: any[]): any; stream(...args: any[]): any } | { compile(...args: any[]): any };
/* oxlint-enable typescript/no-explicit-any */

/**
 * Makes the graph. `config` has `configurable`, `context`, `metadata` and `tags`: the run's, to run it; those of the thread's
 * last run, to read or update a state; the assistant's, to describe the graph. `env` holds the Worker's variables, secrets
 * and bindings, and says which of these it is.
 */
export type GraphFactory = (
  config: LangGraphRunnableConfig | RunnableConfig,
  env: Env & ServerRuntime,
) => Made | Promise<Made>;

/** What a module may export as a graph. */
// oxlint-disable-next-line typescript/no-explicit-any -- a factory may declare its parameters as it likes
export type GraphEntry = Made | Promise<Made> | ((...args: any[]) => Made | Promise<Made>);
