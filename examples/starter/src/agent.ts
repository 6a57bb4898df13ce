/** A ReAct agent: the model answers or calls tools, and continues with their results. */
import { SystemMessage } from "@langchain/core/messages";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode, toolsCondition } from "@langchain/langgraph/prebuilt";
import { chatModel, type Env } from "./model.ts";
import { calculator, currentTime } from "./tools.ts";

const tools = [calculator, currentTime];
const prompt = new SystemMessage(
  "You are a helpful assistant. Use the tools when they give a better answer than memory.",
);

/** langgraph.json names this function. Weir calls it with a run's config and the Worker's variables and bindings. */
export function agent(_config: unknown, env: Env = process.env) {
  const model = chatModel(env);
  const bound = model.bindTools?.(tools) ?? model;
  return new StateGraph(MessagesAnnotation)
    .addNode("agent", async ({ messages }) => ({ messages: [await bound.invoke([prompt, ...messages])] }))
    .addNode("tools", new ToolNode(tools))
    .addEdge(START, "agent")
    .addConditionalEdges("agent", toolsCondition)
    .addEdge("tools", "agent")
    .compile();
}
