/** The questions of a paused run: as elicitations, or as a result that names the thread and how to answer. */
import {
  type CallToolResult,
  type ElicitRequestFormParams,
  inputRequired,
  type InputRequiredResult,
} from "@modelcontextprotocol/server";
import { words } from "../a2a/prompt.ts";
import { isObject } from "../http/json.ts";
import type { Json } from "../json.ts";
import type { Interrupt } from "../threads/types.ts";
import { type OutputSchema, structured } from "./result.ts";

/** The tool that answers an interrupt. */
export const ANSWER = "answer_interrupt";

type Form = ElicitRequestFormParams["requestedSchema"];
type Asked = Interrupt & { id: string };

/** The questions that a state has, unless one of them has no id, by which it is answered. */
export function questionsIn(state: Json): Asked[] {
  const raised = Array.isArray(state.__interrupt__) ? (state.__interrupt__ as Interrupt[]) : [];
  return raised.flatMap(({ id, value }) => (id === undefined ? [] : [{ id, value }]));
}

/** Each question as an elicitation. The state is the thread: whether the caller may answer there is decided by each call. */
export function elicit(questions: Asked[], threadId: string): InputRequiredResult {
  const requests = questions.map(({ id, value }) => [
    id,
    inputRequired.elicit({ message: wordsOf(value), requestedSchema: formOf(value) }),
  ]);
  return inputRequired({ inputRequests: Object.fromEntries(requests), requestState: threadId });
}

/** For clients without elicitation, and for a person who did not answer. */
export function waits(state: Json, threadId: string, schema: OutputSchema | undefined): CallToolResult {
  const questions = questionsIn(state);
  const asked = questions.map(({ id, value }) => {
    const text = wordsOf(value);
    const whole = typeof value === "string" ? "" : `\n${JSON.stringify(value)}`;
    return `${text === whole.trim() ? text : `${text}${whole}`}\n(interrupt_id: ${id})`;
  });
  const how = `The run waits for an answer on thread ${threadId}. Call the tool ${ANSWER} with this thread_id and the answer.`;
  return {
    content: [{ type: "text", text: [...asked, how].join("\n\n") }],
    ...structured(state, schema),
    _meta: { thread_id: threadId, interrupts: questions },
    isError: false,
  };
}

/** The answers by the ids of their questions. Undefined when one was declined, or is absent. */
export function answersIn(responses: Record<string, unknown>): Json | undefined {
  const answers = Object.entries(responses).map(([id, response]) => {
    const { action, content } = isObject(response) ? response : {};
    return action === "accept" && isObject(content) ? ([id, answerOf(content)] as const) : undefined;
  });
  const given = answers.filter((answer) => answer !== undefined);
  return given.length > 0 && given.length === answers.length ? Object.fromEntries(given) : undefined;
}

function wordsOf(value: unknown): string {
  return words(value) ?? JSON.stringify(value) ?? "The run has paused.";
}

const DECISION = /^decision_(\d+)$/;

/**
 * A text, or for a request of LangChain's human-in-the-loop middleware a decision on each action. Changed arguments do not fit in a
 * form, so that decision is not offered.
 */
function formOf(value: unknown): Form {
  const actions = actionsOf(value);
  if (actions.length === 0)
    return { type: "object", properties: { answer: { type: "string", title: "Answer" } }, required: ["answer"] };
  const members = actions.flatMap(({ title, allowed }, index) => [
    [`decision_${index + 1}`, { type: "string", title, enum: allowed }] as const,
    [`message_${index + 1}`, { type: "string", title: "Message, when it is not approved" }] as const,
  ]);
  return {
    type: "object",
    properties: Object.fromEntries(members),
    required: actions.map((_, index) => `decision_${index + 1}`),
  };
}

function actionsOf(value: unknown): { title: string; allowed: string[] }[] {
  if (!isObject(value) || !Array.isArray(value.action_requests)) return [];
  const configs = Array.isArray(value.review_configs) ? value.review_configs : [];
  return value.action_requests.filter(isObject).map((action, index) => {
    const config: unknown = configs[index];
    const listed = isObject(config) && Array.isArray(config.allowed_decisions) ? config.allowed_decisions : [];
    const allowed = listed.filter((one) => typeof one === "string" && one !== "edit") as string[];
    const name = typeof action.name === "string" ? action.name : "action";
    const shown = action.args === undefined ? name : `${name} ${JSON.stringify(action.args)}`.slice(0, 1_000);
    return { title: shown, allowed: allowed.length > 0 ? allowed : ["approve", "reject"] };
  });
}

/** What the graph resumes with. */
function answerOf(content: Json): unknown {
  const places = Object.keys(content).flatMap((name) => DECISION.exec(name)?.[1] ?? []);
  if (places.length === 0) return content.answer ?? content;
  const decisions = places
    .map(Number)
    .sort((a, b) => a - b)
    .map((place) => {
      const message = content[`message_${place}`];
      return { type: content[`decision_${place}`], ...(typeof message === "string" && message && { message }) };
    });
  return { decisions };
}
