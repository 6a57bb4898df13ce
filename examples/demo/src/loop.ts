/**
 * The loop of a tool-calling agent: the model answers, its tool calls run in parallel, and the model receives the
 * results.
 */
import { isAIMessage, SystemMessage, type BaseMessage } from "@langchain/core/messages";
import type { ToolCall } from "@langchain/core/messages/tool";
import type { StructuredToolInterface } from "@langchain/core/tools";
import {
  END,
  type LangGraphRunnableConfig,
  MessagesValue,
  Send,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { chatModel, ModelContext, type ModelEnv, readSettings } from "./model.ts";

const State = new StateSchema({ messages: MessagesValue });

interface Messages {
  messages: BaseMessage[];
}

/** The node that asks the model, with `tools` at its hand. `prompt` is used unless the run's context brings its own. */
export function askModel(env: ModelEnv, tools: StructuredToolInterface[], prompt: string) {
  return async ({ messages }: Messages, config: LangGraphRunnableConfig) => {
    const settings = readSettings(config);
    const model = chatModel(env, settings);
    const system = new SystemMessage(settings.system_prompt || prompt);
    return { messages: [await (model.bindTools?.(tools) ?? model).invoke([system, ...messages], config)] };
  };
}

/** The tool calls that the conversation still owes an answer. */
export function openCalls({ messages }: Messages): ToolCall[] {
  const answered = new Set(messages.map((message) => ("tool_call_id" in message ? message.tool_call_id : undefined)));
  const said = messages.findLast((message) => isAIMessage(message));
  return said && isAIMessage(said) ? (said.tool_calls ?? []).filter((call) => !answered.has(call.id)) : [];
}

/**
 * One task per call, so that each has its own namespace `tools:<task id>` and a crash redoes only what was open. The
 * conversation is not sent along: it would be stored again with every call.
 */
export function runCalls(state: Messages): Send[] | typeof END {
  const calls = openCalls(state);
  return calls.length === 0 ? END : calls.map((call) => new Send("tools", { lg_tool_call: call }));
}

/** A compiled agent with these tools. */
export function toolLoop(
  env: ModelEnv,
  { name, tools, prompt }: { name: string; tools: StructuredToolInterface[]; prompt: string },
) {
  return new StateGraph(State, ModelContext)
    .addNode("agent", askModel(env, tools, prompt))
    .addNode("tools", new ToolNode(tools))
    .addEdge(START, "agent")
    .addConditionalEdges("agent", runCalls, ["tools", END])
    .addEdge("tools", "agent")
    .compile({ name });
}
