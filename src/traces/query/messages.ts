/** Reads the messages of runs, traces and threads from their inputs and outputs. */
import { isObject, parseJson } from "../../lib/json.ts";
import { openSealedBlobs } from "../../access/encryption/blobs.ts";
import { Problem } from "../../lib/problem.ts";
import type { RunSelection } from "../rpc.ts";
import type { LargeField, QueriedRun } from "../types.ts";
import { payloadText } from "./responses.ts";
import { eachRun } from "./find.ts";

// The messages in a run's inputs and outputs, in the forms of LangChain, OpenAI, Anthropic and the SDKs' wrappers.

export type ConversationMessage = Record<string, unknown>;

/** The messages of a value; none where it is no conversation. */
export function messagesIn(value: unknown): ConversationMessage[] {
  if (!isObject(value)) return [];
  return listIn(value)
    .map(toMessage)
    .filter((message) => message !== undefined);
}

function listIn(value: Record<string, unknown>): unknown[] {
  const { messages, message, output, choices, generations } = value;
  // LangChain calls a model with a batch of conversations, and gets a batch of generations.
  if (Array.isArray(messages)) return Array.isArray(messages[0]) && isObject(messages[0][0]) ? messages[0] : messages;
  const within = (list: unknown[]) => list.flat().map((one) => (isObject(one) ? one["message"] : undefined));
  if (Array.isArray(generations)) return within(generations);
  if (Array.isArray(choices)) return within(choices);
  if (isObject(message)) return [message];
  if (Array.isArray(output)) return output;
  return [isObject(output) ? output : value];
}

/** LangChain writes `{lc: 1, id: [..., "HumanMessage"], kwargs}`; what a client reads has the type as a member. */
function toMessage(given: unknown): ConversationMessage | undefined {
  if (Array.isArray(given) && given.length === 2 && typeof given[0] === "string" && typeof given[1] === "string")
    return { role: given[0], content: given[1] };
  if (!isObject(given)) return undefined;
  const { id, kwargs } = given;
  const name: unknown = Array.isArray(id) ? id.at(-1) : undefined;
  if (typeof name === "string" && isObject(kwargs)) {
    const type = name.replace(/Message(Chunk)?$/, "").toLowerCase();
    return "content" in kwargs ? { type, ...kwargs } : undefined;
  }
  const hasRole = typeof given["role"] === "string" || typeof given["type"] === "string";
  return hasRole && "content" in given ? given : undefined;
}

/**
 * Adds the messages of a later call. It repeats the conversation so far: a state has all of it, and a model is called with it.
 * What it repeats are the messages of ids that are known, and a beginning that is the end of those before.
 */
export function append(before: ConversationMessage[], later: ConversationMessage[]): ConversationMessage[] {
  const ids = new Set(before.flatMap(({ id }) => (typeof id === "string" ? [id] : [])));
  const fresh = later.filter(({ id }) => typeof id !== "string" || !ids.has(id));
  return [...before, ...fresh.slice(overlap(before.map(identityText), fresh.map(identityText)))];
}

/** The messages of a call: its input, then its output. An output that is a state has all of them. */
export function joinCall(asked: ConversationMessage[], said: ConversationMessage[]): ConversationMessage[] {
  const [before, all] = [asked.map(identityText), said.map(identityText)];
  const isWhole = all.some((_, from) => before.every((text, i) => text === all[from + i]));
  return isWhole ? said : append(asked, said);
}

/** How many of the first of `after` are the last of `before`. */
function overlap(before: string[], after: string[]): number {
  for (let count = Math.min(before.length, after.length); count > 0; count--) {
    const from = before.length - count;
    if (after.slice(0, count).every((text, i) => text === before[from + i])) return count;
  }
  return 0;
}

function identityText({ role, type, content, tool_calls, tool_call_id }: ConversationMessage): string {
  return JSON.stringify([role ?? type, content, tool_calls, tool_call_id]);
}

const FIELDS: LargeField[] = ["inputs", "outputs"];
/** The most characters of inputs and outputs that are read for one answer. */
const MAX_PAYLOAD_CHARACTERS = 16 * 1024 * 1024;
/** Runs of one page. */
const PAGE = 100;
/** The most runs whose messages are read for one answer. */
const MAX_RUNS = 1_000;

export interface MessageScope {
  workspaceId: string;
  projectIds: string[];
  selection: RunSelection;
}

/** The messages of one run; undefined when there is no such run. */
export async function messagesOfRun(env: Env, whose: MessageScope): Promise<ConversationMessage[] | undefined> {
  const room = { left: MAX_PAYLOAD_CHARACTERS };
  for await (const run of readRuns(env, whose)) {
    const own = await readMessages(env, run, room);
    // A chain without messages of its own has those of the models that it calls.
    return own.length > 0 ? own : gatherMessages(env, { ...whose, selection: modelsBelow(run) }, room);
  }
  return undefined;
}

/** The messages of a thread, turn by turn; undefined when it has no turn. */
export async function messagesOfThread(env: Env, whose: MessageScope): Promise<ConversationMessage[] | undefined> {
  const room = { left: MAX_PAYLOAD_CHARACTERS };
  let messages: ConversationMessage[] | undefined;
  for await (const run of readRuns(env, whose)) {
    const own = await readMessages(env, run, room);
    const turn = own.length > 0 ? own : await gatherMessages(env, { ...whose, selection: modelsBelow(run) }, room);
    messages = append(messages ?? [], turn);
  }
  return messages;
}

const modelsBelow = ({ trace_id, id, is_root }: QueriedRun): RunSelection => ({
  traceId: trace_id,
  runType: "llm",
  ...(is_root ? {} : { parentRunId: id }),
});

async function gatherMessages(env: Env, whose: MessageScope, room: Room): Promise<ConversationMessage[]> {
  let messages: ConversationMessage[] = [];
  for await (const run of readRuns(env, whose)) messages = append(messages, await readMessages(env, run, room));
  return messages;
}

interface Room {
  left: number;
}

async function readMessages(env: Env, run: QueriedRun, room: Room): Promise<ConversationMessage[]> {
  const [asked, said] = [await read(env, run.inputs, room), await read(env, run.outputs, room)];
  return joinCall(messagesIn(asked), messagesIn(said));
}

async function read(env: Env, payload: string | null, room: Room): Promise<unknown> {
  if (payload === null) return undefined;
  const text = await payloadText(openSealedBlobs(env), payload, room.left);
  if (text === undefined || text.length > room.left) {
    throw new Problem(
      413,
      `The messages are in more than ${MAX_PAYLOAD_CHARACTERS} characters of inputs and outputs. Read the runs.`,
    );
  }
  room.left -= text.length;
  return parseJson(text);
}

/** Oldest first. */
async function* readRuns(
  env: Env,
  { workspaceId, projectIds, selection }: MessageScope,
): AsyncGenerator<QueriedRun, void, void> {
  let count = 0;
  for await (const run of eachRun(env, workspaceId, {
    projectIds,
    selection,
    order: "asc",
    limit: PAGE,
    payloads: FIELDS,
  })) {
    if (++count > MAX_RUNS) throw new Problem(413, `The messages are in more than ${MAX_RUNS} runs. Read the runs.`);
    yield run;
  }
}
