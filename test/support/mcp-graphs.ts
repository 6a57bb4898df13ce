/** Graphs under the names of tools that the MCP conformance suite calls. */
import { AIMessage } from "@langchain/core/messages";
import { END, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { graphs } from "../../src/graphs/index.ts";

const State = new StateSchema({ messages: MessagesValue });

const graphOf = (answer: () => object) =>
  new StateGraph(State).addNode("answer", answer).addEdge(START, "answer").addEdge("answer", END).compile();

Object.assign(graphs, {
  test_simple_text: graphOf(() => ({ messages: [new AIMessage("This is a simple text response for testing.")] })),
  test_error_handling: graphOf(() => {
    throw new Error("This tool intentionally returns an error for testing");
  }),
});
