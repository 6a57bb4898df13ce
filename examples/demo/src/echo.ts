/** One node that returns its input as a message. The smallest graph that a client can chat with. */
import { AIMessage } from "@langchain/core/messages";
import { END, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";

const State = new StateSchema({ messages: MessagesValue });

export const echo = new StateGraph(State)
  .addNode("echo", ({ messages }) => ({ messages: [new AIMessage(`You said: ${messages.at(-1)?.text ?? "nothing"}`)] }))
  .addEdge(START, "echo")
  .addEdge("echo", END)
  .compile({ name: "echo" });
