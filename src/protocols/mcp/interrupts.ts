/** The questions of a paused run: as elicitations, or as a result that names the thread and how to answer. */
import {
  type InputRequest,
  type CallToolResult,
  type ElicitRequestFormParams,
  inputRequired,
  type InputRequiredResult,
} from "@modelcontextprotocol/server";
import * as v from "valibot";
import { AnyObject } from "../../http/shapes.ts";
import { readWords } from "../a2a/interrupts.ts";
import type { OwnLink } from "../../threads/interrupts/links/links.ts";
import { sha256 } from "../../lib/crypto.ts";
import { isObject, type Json } from "../../lib/json.ts";
import { formatTime } from "../../threads/interrupts/responses.ts";
import { listInterrupts } from "../../threads/interrupts/waiting.ts";
import type { Interrupt } from "../../threads/types.ts";

// An interrupt that is a request of the protocol: a form of the graph's own, a completion by the client's model, or the client's roots.
// The graph continues with the form's content, or with the result of the request.

/** The key of the request. A graph that gives none gets the id of its interrupt. */
const name = v.optional(v.pipe(v.string(), v.regex(/^[\w-]{1,64}$/)));

const OwnRequest = v.variant("method", [
  v.object({
    method: v.literal("elicitation/create"),
    name,
    params: v.looseObject({ message: v.string(), requestedSchema: AnyObject }),
  }),
  v.object({
    method: v.literal("sampling/createMessage"),
    name,
    params: v.looseObject({ messages: v.array(AnyObject), maxTokens: v.number() }),
  }),
  v.object({ method: v.literal("roots/list"), name, params: v.optional(AnyObject, {}) }),
]);
export type OwnRequest = v.InferOutput<typeof OwnRequest>;

/** Undefined for every other value, which is a question in words. */
export function ownRequest(value: unknown): OwnRequest | undefined {
  const parsed = v.safeParse(OwnRequest, value);
  return parsed.success ? parsed.output : undefined;
}

/** The request on the wire. */
export const toInput = ({ method, params }: OwnRequest): InputRequest =>
  ({ method, params }) as unknown as InputRequest;

/** The tool that answers an interrupt. */
export const RESPONSE_MEMBER = "answer_interrupt";

type Form = ElicitRequestFormParams["requestedSchema"];
export interface McpInterrupt {
  id: string;
  value?: unknown;
  link?: OwnLink;
}

/** What a client shows to a person: forms, and addresses that it opens. */
export interface ClientDisplay {
  forms: boolean;
  urls: boolean;
}

/** The questions that a state has, unless one of them has no id, by which it is answered. */
export const interruptsIn = (state: Json): McpInterrupt[] =>
  withIds(Array.isArray(state.__interrupt__) ? (state.__interrupt__ as Interrupt[]) : []);

/** The questions that a thread waits on. */
export const waitingOn = (thread: { interrupts: Record<string, Interrupt[]> } | undefined): McpInterrupt[] =>
  withIds(listInterrupts(thread?.interrupts));

const withIds = (raised: Interrupt[]): McpInterrupt[] =>
  raised.flatMap(({ id, value }) => (id === undefined ? [] : [{ id, value }]));

/**
 * The questions that a client can show as requests. The state names the thread and all questions that wait there: whether the caller
 * may answer is decided by each call.
 */
export function request(interrupts: McpInterrupt[], shows: ClientDisplay, threadId: string): InputRequiredResult {
  const asked = [...keyInterrupts(interrupts)].filter(([, one]) => canShow(one, shows));
  const requests = asked.map(([key, { value, link }]) => {
    const own = ownRequest(value);
    if (own) return [key, toInput(own)];
    const message = interruptText(value);
    if (shows.forms || !link) return [key, inputRequired.elicit({ message, requestedSchema: toForm(value) })];
    return [key, inputRequired.elicitUrl({ message, url: link.answer_url })];
  });
  return inputRequired({
    inputRequests: Object.fromEntries(requests),
    requestState: encodeState(threadId, interrupts),
  });
}

/** Differs when other questions wait, which may have the same keys and ids. */
export function encodeState(threadId: string, interrupts: McpInterrupt[]): string {
  const texts = new Set(interrupts.map(({ id, value }) => JSON.stringify([id, value])));
  return `${threadId}.${sha256([...texts].sort().join("\n")).slice(0, 16)}`;
}

/** Whether a person answers the question, and not the client's model or its roots. */
export const isForPeople = ({ value }: McpInterrupt): boolean =>
  (ownRequest(value)?.method ?? "elicitation/create") === "elicitation/create";

/** Whether a client can show the question: as a form, or as the address of its page. A graph's own form has no such page. */
export const canShow = (one: McpInterrupt, { forms, urls }: ClientDisplay): boolean =>
  forms || !isForPeople(one) || (urls && one.link !== undefined && !ownRequest(one.value));

/** The questions by the keys of their requests: the graph's own name where no other question has it, else the id. */
export function keyInterrupts(interrupts: McpInterrupt[]): Map<string, McpInterrupt> {
  const requestName = ({ value }: McpInterrupt) => ownRequest(value)?.name;
  const names = interrupts.map(requestName);
  const questionKey = (one: McpInterrupt) => {
    const name = requestName(one);
    return name !== undefined && names.indexOf(name) === names.lastIndexOf(name) ? name : one.id;
  };
  return new Map(interrupts.map((one) => [questionKey(one), one]));
}

/** For clients without elicitation, and for a person who did not answer. */
export function askAsText(questions: McpInterrupt[], threadId: string): CallToolResult {
  const asked = questions.map(({ id, value, link }) => {
    const text = interruptText(value);
    const whole = typeof value === "string" ? "" : `\n${JSON.stringify(value)}`;
    const shown = `${text === whole.trim() ? text : `${text}${whole}`}\n(interrupt_id: ${id})`;
    if (!link) return shown;
    return `${shown}\nA person can answer it at ${link.answer_url} until ${formatTime(Date.parse(link.expires_at))}.`;
  });
  const how = `The run waits for an answer on thread ${threadId}. Call the tool ${RESPONSE_MEMBER} with this thread_id and the answer.`;
  const links = questions.flatMap(({ link }) => link ?? []);
  const interrupts = questions.map(({ id, value }) => ({ id, value }));
  return {
    content: [{ type: "text", text: [...asked, how].join("\n\n") }],
    _meta: { thread_id: threadId, interrupts, ...(links.length > 0 && { answer_links: links }) },
    isError: false,
  };
}

/**
 * The answers by the ids of their questions. Responses to anything else are ignored. Undefined when a question was declined, or
 * none was answered.
 */
export function responsesIn(interrupts: McpInterrupt[], responses: Record<string, unknown>): Json | undefined {
  const asked = [...keyInterrupts(interrupts)].filter(([key]) => Object.hasOwn(responses, key));
  const answers = asked.map(([key, { id, value }]) => {
    const response = isObject(responses[key]) ? responses[key] : {};
    const own = ownRequest(value);
    if (own && own.method !== "elicitation/create")
      return Object.keys(response).length > 0 ? ([id, response] as const) : undefined;
    const { action, content } = response;
    if (action !== "accept" || !isObject(content)) return undefined;
    return [id, own ? content : toResumeValue(content)] as const;
  });
  const given = answers.filter((answer) => answer !== undefined);
  return given.length > 0 && given.length === answers.length ? Object.fromEntries(given) : undefined;
}

function interruptText(value: unknown): string {
  const own = ownRequest(value);
  if (own?.method === "elicitation/create") return own.params.message;
  return readWords(value) ?? JSON.stringify(value) ?? "The run has paused.";
}

const DECISION = /^decision_(\d+)$/;

/**
 * A text, or for a request of LangChain's human-in-the-loop middleware a decision on each action. Changed arguments do not fit in a
 * form, so that decision is not offered.
 */
function toForm(value: unknown): Form {
  const actions = listActions(value);
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

function listActions(value: unknown): { title: string; allowed: string[] }[] {
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
function toResumeValue(content: Json): unknown {
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
