import type { Pregel } from "@langchain/langgraph";

/** A compiled graph of any state. */
// oxlint-disable-next-line typescript/no-explicit-any -- its type parameters are the project's
export type Graph = Pregel<any, any, any>;
