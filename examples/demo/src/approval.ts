/** An agent that drafts an email and asks a person before it is sent. */
import { AIMessage, isAIMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import {
  Command,
  END,
  interrupt,
  type LangGraphRunnableConfig,
  MessagesValue,
  ReducedValue,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { z } from "zod";
import { type Decision, decisionsFrom } from "./decisions.ts";
import { askModel, openCalls, runCalls } from "./loop.ts";
import { ENV, ModelContext, type ModelEnv } from "./model.ts";

const prompt = "You draft emails. When the user requests one, call send_email; a person decides whether it is sent.";

const Email = z.object({ to: z.string(), subject: z.string(), body: z.string() });
type Email = z.infer<typeof Email>;

const State = new StateSchema({
  messages: MessagesValue,
  /** What was "sent". The demo has no mail server: the side effect is an entry here. */
  sent: new ReducedValue(
    z.array(Email).default(() => []),
    { inputSchema: z.array(Email), reducer: (sent: Email[], more: Email[]) => [...sent, ...more] },
  ),
});

const sendEmail = tool(
  (email, config: LangGraphRunnableConfig & { toolCallId?: string }) => {
    const done = new ToolMessage({
      name: "send_email",
      content: `Sent to ${email.to}. (A demo: the email is kept in the thread's state and does not leave it.)`,
      tool_call_id: config.toolCallId ?? "",
    });
    return new Command({ update: { sent: [email], messages: [done] } });
  },
  { name: "send_email", description: "Sends an email, once a person has approved it.", schema: Email },
);

/** Stops the run until a person has decided on each drafted email. */
function review(state: typeof State.State) {
  const calls = openCalls(state);
  const resume: unknown = interrupt({
    action_requests: calls.map(({ name, args }) => ({ name, args, description: `Send this email to ${args.to}?` })),
    review_configs: calls.map(({ name }) => ({
      action_name: name,
      allowed_decisions: ["approve", "edit", "reject", "respond"],
    })),
  });
  const decisions = decisionsFrom(resume, calls.length);
  const draft = state.messages.findLast((message) => isAIMessage(message));
  const edits = new Map(calls.map((call, index) => [call.id, readEditedArgs(decisions[index])]));
  const refusals = calls.flatMap((call, index) => refusal(call.id ?? "", decisions[index]) ?? []);
  if (!draft || !isAIMessage(draft)) return { messages: refusals };
  const tool_calls = draft.tool_calls?.map((call) => ({ ...call, args: edits.get(call.id) ?? call.args }));
  return { messages: [new AIMessage({ id: draft.id, content: draft.content, tool_calls }), ...refusals] };
}

function readEditedArgs(decision?: Decision): Record<string, unknown> | undefined {
  return decision?.type === "edit" ? decision.edited_action.args : undefined;
}

/** The answer that a call gets instead of being run. */
function refusal(tool_call_id: string, decision?: Decision): ToolMessage | undefined {
  if (decision?.type !== "reject" && decision?.type !== "respond") return undefined;
  const content = decision.type === "reject" ? `Not sent: ${decision.message}` : decision.message;
  const status = decision.type === "reject" ? "error" : "success";
  return new ToolMessage({ name: "send_email", content, tool_call_id, status });
}

export const approval = (_config: unknown, env: ModelEnv = ENV) =>
  new StateGraph(State, ModelContext)
    .addNode("agent", askModel(env, [sendEmail], prompt))
    .addNode("review", review)
    .addNode("tools", new ToolNode([sendEmail]))
    .addEdge(START, "agent")
    .addConditionalEdges("agent", (state) => (openCalls(state).length > 0 ? "review" : END), ["review", END])
    .addConditionalEdges("review", (state) => (openCalls(state).length > 0 ? runCalls(state) : "agent"), [
      "tools",
      "agent",
    ])
    .addEdge("tools", "agent")
    .compile({ name: "approval" });
