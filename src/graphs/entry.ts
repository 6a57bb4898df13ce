import type { RunnableConfig } from "@langchain/core/runnables";
import type { LangGraphRunnableConfig, Pregel } from "@langchain/langgraph";

/** A compiled graph, whatever its state. */
// oxlint-disable-next-line typescript/no-explicit-any -- the state of any graph
export type Graph = Pregel<any, any, any, any, any, any, any, any, any, any, any>;

/**
 * Makes the graph for one run. `config` is the run's (`configurable`, `context`, `metadata`, `tags`); it is `{}` when the
 * server only wants to describe the graph. `env` holds the Worker's variables, secrets and bindings.
 */
export type GraphFactory = (config: LangGraphRunnableConfig | RunnableConfig, env: Env) => Graph | Promise<Graph>;

export type GraphEntry = Graph | GraphFactory;
