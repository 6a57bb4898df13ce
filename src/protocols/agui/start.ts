/** A request becomes a run: what of it is new to the thread is the input, or the answer to its interrupts. */
import { isObject, parseBoundedJson, type Json } from "../../lib/json.ts";
import { Problem } from "../../lib/problem.ts";
import { readStates, threadStub } from "../../threads/remote.ts";
import type { ThreadRpc, RunRequest } from "../../threads/rpc.ts";
import { type AguiMessage, type RunAgentInput, readForwarded } from "./schema.ts";
import { readChannels } from "../../agents/assistants/describe.ts";
import { deriveUuid } from "../../lib/uuid.ts";
import { requireAssistant, type ThreadCaller } from "../../threads/api/access.ts";
import { runRequest } from "../../threads/api/request.ts";
import { type Thread, deriveThreadId, threadName } from "../../threads/types.ts";
import type { RunCreate } from "../../threads/api/schema.ts";
import { authorize, containsJson } from "../../access/users/handlers.ts";
import { BREAKPOINT, buildResume } from "./interrupts.ts";
import { graphMessage } from "./messages.ts";
import { isEqual } from "./events.ts";

// Answers that a client wants again: it sends the conversation up to a message that the thread has answered already.

export interface Regeneration {
  /** What is answered again, as the client has it now. */
  message: AguiMessage;
  /** The thread's messages before it. */
  kept: unknown[];
}

const readId = (message: unknown): unknown => (isObject(message) ? message.id : undefined);

/** The message to answer again, among the `known` ones of the thread; undefined when the client continues. */
export function findRegeneration({ messages }: RunAgentInput, known: unknown): Regeneration | undefined {
  if (!Array.isArray(known)) return undefined;
  const ids = known.map(readId);
  const message = messages.findLast(({ role }) => ["user", "assistant", "tool"].includes(role));
  // CopilotKit gives results of tools ids of its own.
  const spoken = messages.filter(({ role }) => role === "user" || role === "assistant");
  if (message?.role !== "user" || !spoken.every(({ id }) => ids.includes(id))) return undefined;
  const place = ids.indexOf(message.id);
  const isAnswered = known.slice(place + 1).some((one) => isObject(one) && one.type !== "system");
  return isAnswered ? { message, kept: known.slice(0, place) } : undefined;
}

/** How many checkpoints are looked through, newest first. */
const DEPTH = 1000;

/**
 * The newest checkpoint on the way to the thread's state that does not have the message: the run begins there, so that the
 * other keys of the state are as they were, too. @throws Problem 409 when the thread has none.
 */
export async function checkpointBefore(thread: ThreadRpc, { message }: Regeneration): Promise<string> {
  let next: unknown;
  for await (const state of readStates(await thread.history({ limit: DEPTH }))) {
    const id = state.checkpoint?.checkpoint_id;
    // Checkpoints of other branches are in the history, too.
    if (next !== undefined && id !== next) continue;
    const { messages } = (state.values ?? {}) as { messages?: unknown };
    const has = Array.isArray(messages) && messages.some((one) => readId(one) === message.id);
    if (!has && typeof id === "string") return id;
    next = state.parent_checkpoint?.checkpoint_id ?? null;
  }
  throw new Problem(409, "The thread has no checkpoint before this message, so it cannot be answered again.");
}

export interface AguiStart {
  thread: ThreadRpc;
  threadId: string;
  request: RunRequest;
  /** The thread's messages, when the client did not send all of them. */
  before: unknown;
}

/**
 * The run for a request. Its id is derived from the client's `threadId` and `runId` and its credential, so that a retry after a lost
 * answer finds the same run.
 */
export async function planStart(by: ThreadCaller, assistantId: string, input: RunAgentInput): Promise<AguiStart> {
  const { env, principal } = by;
  const assistant = await requireAssistant(env, principal, assistantId);
  const threadId = deriveThreadId(input.threadId, principal.user?.identity);
  const thread = threadStub(env, principal.workspaceId, threadId);
  const channels = await readChannels(assistant, env);
  const found = await visibleThread(by, threadId, thread);
  const { kind, credentialId } = principal;
  const runId = deriveUuid(`ag-ui run ${JSON.stringify([threadId, input.runId, kind, credentialId])}`);
  const again = found && (await requestedRegeneration(input, found, thread, runId));
  const { answers, ...given } = readAguiInput(input, found, channels, again?.message);
  const { parentRunId, tools, context, state, forwardedProps } = input;
  const told = {
    parent_run_id: parentRunId ?? null,
    tools,
    context,
    state: state ?? null,
    forwarded_props: forwardedProps ?? null,
  };
  const body: RunCreate = {
    assistant_id: assistant.assistant_id,
    ...given,
    ...(again && { checkpoint_id: await checkpointBefore(thread, again) }),
    if_not_exists: "create",
    on_disconnect: readForwarded(input).on_disconnect ?? "continue",
    metadata: { source: "ag-ui", ag_ui: { thread_id: input.threadId, run_id: input.runId } },
  };
  const configurable = { ...by.configurable, ag_ui: told };
  const request = await runRequest({ ...by, configurable }, threadId, body, runId);
  const known = again?.kept ?? found?.values?.messages;
  const before = isMissing(input, known) ? known : undefined;
  const own = { chosen_id: true as const, ...(answers && { must_resume: answers }) };
  return { thread, threadId, request: { ...request, ...own }, before };
}

/** The thread, if there is one. 404 when it is not one that the user sees. */
export async function visibleThread(
  { principal }: ThreadCaller,
  threadId: string,
  thread: ThreadRpc,
): Promise<Thread | undefined> {
  const filter = await authorize(principal, "threads", "read", { thread_id: threadId });
  const found = await thread.get();
  if (found && filter && !containsJson(found.metadata, filter))
    throw new Problem(404, `${threadName(threadId)} not found.`);
  return found;
}

/** The message to answer again, unless the request answers interrupts or its run exists already. */
async function requestedRegeneration(
  input: RunAgentInput,
  { values }: Thread,
  thread: ThreadRpc,
  runId: string,
): Promise<Regeneration | undefined> {
  if (input.resume?.length || readForwarded(input).command?.resume !== undefined) return undefined;
  const found = findRegeneration(input, values?.messages);
  return found && !(await thread.getRun(runId)) ? found : undefined;
}

type AguiRunInput = Pick<RunCreate, "input" | "command"> & { answers?: string[] };

/**
 * `channels`: the keys of the graph's state; undefined when the graph cannot be made, and its run says why. `again`: a message
 * of the thread that is given once more.
 */
export function readAguiInput(
  input: RunAgentInput,
  thread: Thread | undefined,
  channels: Set<string> | undefined,
  again?: AguiMessage,
): AguiRunInput {
  const values = thread?.values ?? {};
  const has = (name: string) => channels === undefined || channels.has(name);
  const messages = has("messages") ? freshMessages(input, values.messages, again) : [];
  const update = { ...changedValues(input, values, has), ...(messages.length > 0 && { messages }) };
  const { resume } = input;
  const legacy = readForwarded(input).command;
  if (resume && resume.length > 0) {
    // A breakpoint asks no question: the run continues without an input.
    if (resume.some(({ interruptId }) => interruptId === BREAKPOINT.id)) return { input: null };
    return { command: { resume: buildResume(resume), update }, answers: resume.map(({ interruptId }) => interruptId) };
  }
  if (legacy && "resume" in legacy) return { command: { resume: parseResponse(legacy.resume), update } };
  return { input: has("messages") ? { messages, ...update } : update };
}

/** An answer that is JSON as a text is what it says: CopilotKit's components answer with texts only. */
const parseResponse = (answer: unknown): unknown =>
  typeof answer === "string" ? (parseBoundedJson(answer) ?? answer) : answer;

/** Clients send the whole conversation. What the thread has keeps what clients do not send, such as metadata. */
function freshMessages(input: RunAgentInput, known: unknown, again?: AguiMessage): Json[] {
  const ids = new Set(Array.isArray(known) ? known.map((one: unknown) => (isObject(one) ? one.id : undefined)) : []);
  const fresh = input.messages.filter((one) => one === again || !ids.has(one.id)).map(graphMessage);
  return fresh.filter((message) => message !== undefined);
}

function isMissing(input: RunAgentInput, messages: unknown): boolean {
  const sent = new Set(input.messages.map(({ id }) => id));
  return Array.isArray(messages) && messages.some((one) => isObject(one) && !sent.has(String(one.id)));
}

/** The tools as models take them, each name once: graphs bind what their state has. */
function modelTools(tools: unknown[]): Json[] {
  const byName = new Map<unknown, Json>();
  for (const tool of tools.filter(isObject)) {
    const { name, description, parameters } = tool;
    if (byName.has(name)) continue;
    const own = { type: "function", name, function: { name, description, parameters } };
    byName.set(name, tool.type === undefined ? own : tool);
  }
  return [...byName.values()];
}

/** Clients send the whole state. A reducer would add what it has a second time, so only what differs is an update. */
function changedValues(input: RunAgentInput, values: Json, has: (name: string) => boolean): Json {
  const state = isObject(input.state) ? input.state : {};
  const tools = modelTools([...input.tools, ...(Array.isArray(state.tools) ? (state.tools as unknown[]) : [])]);
  const copilotkit = { ...(isObject(state.copilotkit) ? state.copilotkit : {}), actions: tools };
  // As `@ag-ui/langgraph` gives them to graphs whose state has these keys.
  const given = { ...state, tools, "ag-ui": { tools, context: input.context }, copilotkit };
  const differs = ([name, value]: [string, unknown]) =>
    name !== "messages" && has(name) && !isEqual(values[name], value);
  return Object.fromEntries(Object.entries(given).filter(differs));
}
