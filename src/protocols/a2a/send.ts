/** A message becomes a run: of an existing task, or of a new one. */
import { hasMessages } from "../../agents/assistants/describe.ts";
import type { Json } from "../../lib/json.ts";
import { toProblem } from "../../lib/problem.ts";
import { idempotentId } from "../../http/context.ts";
import { readConfigurable, runRequest } from "../../threads/api/request.ts";
import { describeResponse } from "../../threads/interrupts/responses.ts";
import type { RunRequest } from "../../threads/rpc.ts";
import { threadStub } from "../../threads/remote.ts";
import { type TaskView, deriveThreadId } from "../../threads/types.ts";
import {
  callUser,
  type A2aCall,
  callDatabase,
  project,
  readTaskId,
  toTaskId,
  findTask,
  params,
  shorten,
} from "./call.ts";
import {
  toMessageContent,
  toState,
  isTerminal,
  type A2aPart,
  type PushConfig,
  type TaskUpdate,
  type A2aGeneration,
  isSettled,
} from "./types.ts";
import { contentNotSupported, invalidParams, taskNotFound, unsupported } from "./errors.ts";
import { follow, METHODS, readTask, type TaskRef, followToEnd } from "./follow.ts";
import { TaskReducer } from "./task-reducer.ts";
import { acceptParts } from "./modes.ts";
import { resumedIds, toResume } from "./interrupts.ts";
import { toHook } from "./push.ts";
import { Send, Kinds, TaskQuery } from "./schema.ts";
import { statusWithResponse, update, wrappedMessage, wrappedTask } from "./dialect.ts";
import { addLinks, withLinks } from "./links.ts";
import { rpcStream } from "./respond.ts";

/** The target of a message: an existing task, or a new one. */
interface Target {
  ref: TaskRef;
  /** Undefined for a new task. It has the message's run when the client repeats a request under its Idempotency-Key. */
  known?: { view: TaskView; reducer: TaskReducer; ended: number };
}

async function findTarget(call: A2aCall, { message }: Send, runId: string): Promise<Target> {
  const { taskId, contextId, parts } = message;
  if (taskId === undefined) return newTask(call, contextId ?? (await newContext(call, runId)), runId);
  const { ref, view } = await findTask(call, taskId);
  if (contextId !== undefined && contextId !== ref.ids.contextId) {
    throw invalidParams("message.contextId is not the context of message.taskId.");
  }
  const { reducer, ended } = await readTask(ref, view);
  if (!hasRun(view, runId)) await refuseLate(ref, parts, view.waiting);
  if (!isTerminal(reducer.state) || hasRun(view, runId)) return { ref, known: { view, reducer, ended } };
  // Callers by the specification (section 4.4, rule 1) send the last task's id with every turn; only 1.0 forbids it.
  if (call.generation === "0.3") return newTask(call, ref.ids.contextId, runId);
  throw unsupported(
    `The task is ${reducer.state}: it accepts no more messages. Send without taskId to continue in the context.`,
  );
}

/**
 * A context for a conversation that begins. The caller's `thread_id`, under which it groups the traces of several agents,
 * becomes the context while it is free: so the `contextId` that it sends on groups the same turns.
 */
async function newContext(call: A2aCall, runId: string): Promise<string> {
  const wanted = call.envelope.metadata?.thread_id;
  if (!wanted) return runId;
  const thread = threadStub(call.c.env, call.workspaceId, deriveThreadId(wanted, callUser(call)));
  const free = !(await thread.get()) || (await thread.task(runId)) !== undefined;
  return free ? wanted : runId;
}

async function newTask(call: A2aCall, contextId: string, runId: string): Promise<Target> {
  const { c, workspaceId } = call;
  const threadId = deriveThreadId(contextId, callUser(call));
  const thread = threadStub(c.env, workspaceId, threadId);
  const ref = { thread, runId, ids: { taskId: toTaskId(threadId, runId), contextId } };
  // Only a request under an Idempotency-Key has the id of an existing run.
  const view = c.get("idempotency") && (await thread.task(runId));
  return view ? { ref, known: { view, ...(await readTask(ref, view)) } } : { ref };
}

const hasRun = ({ runs }: TaskView, runId: string): boolean => runs.some(({ run_id }) => run_id === runId);

/** The run that the message makes. The graph reads the message itself in `configurable.a2a`. */
async function buildRunRequest(call: A2aCall, sent: Send, { ref, known }: Target, runId: string): Promise<RunRequest> {
  const { message, configuration } = sent;
  const { taskId, contextId } = ref.ids;
  const waiting = known?.view.waiting ?? [];
  const told: Json = {
    message,
    task_id: taskId,
    context_id: contextId,
    metadata: sent.metadata ?? {},
    accepted_output_modes: configuration.acceptedOutputModes,
    generation: call.generation,
  };
  const marks = { source: "a2a", a2a: { task_id: taskId, context_id: contextId, message_id: message.messageId } };
  const given =
    waiting.length > 0
      ? { command: { resume: toResume(message.parts, waiting) } }
      : { command: undefined, input: await buildInput(call, sent, runId) };
  // The tracing groups by the session before the thread's own id.
  const own = { ...marks, session_id: call.envelope.metadata?.thread_id || contextId };
  const body = { assistant_id: call.assistant.assistant_id, ...given, metadata: own, if_not_exists: "create" as const };
  const { env, req } = call.c;
  const principal = call.c.get("principal");
  const configurable = { ...readConfigurable(req.raw.headers, principal), a2a: told };
  const by = { env, principal, configurable, via: "a2a" as const };
  const threadId = readTaskId(taskId)?.threadId ?? "";
  const request = await runRequest(by, threadId, body, runId).catch((error: unknown) => {
    throw toProblem(error).status === 404 ? taskNotFound() : error;
  });
  // Another message may have answered since the task was read.
  const answers = given.command && Object.keys(given.command.resume);
  return {
    ...request,
    must_resume: answers,
    task: { task_id: ref.runId, ...hooks(call, configuration.push, known?.view.hooks) },
  };
}

/**
 * A message that says which question it answers is no next message of the task when the question has been answered: the refusal says
 * by whom.
 */
async function refuseLate({ thread }: TaskRef, parts: A2aPart[], waiting: TaskView["waiting"]): Promise<void> {
  const late = resumedIds(parts).filter((id) => !waiting.some((question) => question.id === id));
  const [first] = late.length > 0 ? Object.values(await thread.acceptedResponses(late)) : [];
  if (first) throw unsupported(`The question accepts one answer. ${describeResponse(first)}`);
}

async function buildInput({ c, assistant }: A2aCall, { message, metadata }: Send, runId: string): Promise<Json> {
  const { messageId, parts, metadata: own, extensions, referenceTaskIds } = message;
  if (!(await hasMessages(assistant, c.env))) {
    // Specification, section 2.8.
    if (parts.some(({ data }) => data === undefined)) {
      throw contentNotSupported("The state of this agent's graph has no messages: send it data parts only.");
    }
    return toState(parts);
  }
  const a2a = {
    message_id: messageId,
    metadata: { ...metadata, ...own },
    extensions,
    reference_task_ids: referenceTaskIds,
  };
  // The run's id, not the caller's: a repeated message id must not replace an earlier message.
  const human = { type: "human", id: runId, content: toMessageContent(parts), additional_kwargs: { a2a } };
  return { ...toState(parts), messages: [human] };
}

function hooks(
  call: A2aCall,
  push: PushConfig | undefined,
  taken: TaskView["hooks"] = {},
): Partial<Pick<TaskView, "hooks">> {
  if (!push) return {};
  const { id, hook } = toHook(call, push, taken);
  return { hooks: { [id]: hook } };
}

/** How often a message is sent that finds its question answered. Each time, another message was earlier. */
const TRIES = 4;

interface Started {
  ref: TaskRef;
  reducer: TaskReducer;
  updates: AsyncGenerator<TaskUpdate, void, void>;
}

/**
 * Starts the message's run. `updates` are the task's later updates. A request that is repeated under its Idempotency-Key
 * starts none: it gets the task's current state, and the later updates.
 */
export async function start(call: A2aCall, sent: Send): Promise<Started> {
  acceptParts(call.assistant, sent);
  const runId = idempotentId(call.c);
  for (let attempt = 1; ; attempt += 1) {
    const target = await findTarget(call, sent, runId);
    const { ref, known } = target;
    if (known && hasRun(known.view, runId)) {
      await project(callDatabase(call), call.workspaceId, call.assistant.assistant_id, known.reducer.task());
      return { ref, reducer: known.reducer, updates: follow(ref, known.reducer, known.ended) };
    }
    const request = await buildRunRequest(call, sent, target, runId);
    const created_at = new Date().toISOString();
    try {
      const events = await ref.thread.startAndFollow(request, { methods: METHODS });
      return await startRun(call, target, request, created_at, events);
    } catch (error) {
      // The question has been answered in the meantime: the message is now the task's next message.
      if (attempt === TRIES || request.must_resume === undefined || toProblem(error).status !== 409) throw error;
    }
  }
}

async function startRun(
  call: A2aCall,
  { ref, known }: Target,
  { run_id, configurable = {} }: RunRequest,
  created_at: string,
  events: ReadableStream<Uint8Array>,
): Promise<Started> {
  const reducer = known?.reducer ?? new TaskReducer(ref.ids);
  const behind = known && known.ended < known.view.runs.length;
  if (!behind) reducer.begin({ run_id, created_at, configurable });
  await project(callDatabase(call), call.workspaceId, call.assistant.assistant_id, reducer.task());
  // A working task is followed from its current position; the new run follows.
  if (behind) await events.cancel();
  const updates = behind ? follow(ref, reducer, known.ended) : follow(ref, reducer, known?.ended ?? 0, events);
  return { ref, reducer, updates };
}

// `message/send`, `message/stream` and `tasks/resubscribe`: a task, and its updates.

function parseSend({ generation }: A2aCall, given: unknown): Send {
  const sent = params(Send, given);
  if (generation === "0.3") params(Kinds, given);
  return sent;
}

/** The answer to a send: the task when it has ended or waits, or immediately when the caller does not wait. */
export async function send(call: A2aCall, given: unknown): Promise<unknown> {
  const sent = parseSend(call, given);
  const { configuration } = sent;
  const { ref, reducer, updates } = await start(call, sent);
  const { generation } = call;
  if (!configuration.blocking) {
    await updates.return();
    await addLinks(call, ref.ids.taskId, reducer);
    return wrappedTask(shorten(reducer.task(), configuration.historyLength), generation);
  }
  for await (const update of updates) {
    if (update.kind === "message") {
      await updates.return();
      return wrappedMessage(update.message, generation);
    }
  }
  await addLinks(call, ref.ids.taskId, reducer);
  const task = reducer.task();
  await project(callDatabase(call), call.workspaceId, call.assistant.assistant_id, task);
  return wrappedTask(shorten(task, configuration.historyLength), generation);
}

/** An update as an event. The last one of 0.3 carries the answer in its status, as the task of `message/send` does. */
function toWireUpdate(
  given: TaskUpdate,
  reducer: TaskReducer,
  ids: TaskRef["ids"],
  generation: A2aGeneration,
): unknown {
  const isLast = given.kind === "status" && given.status.state === "completed";
  const shown = isLast && generation === "0.3" ? { ...given, status: statusWithResponse(reducer.task()) } : given;
  return update(shown, ids, generation);
}

/** The answer to a stream: SSE, until the task has ended or waits. */
export async function stream(call: A2aCall, given: unknown): Promise<Response> {
  const sent = parseSend(call, given);
  const { ref, reducer, updates } = await start(call, sent);
  const { historyLength } = sent.configuration;
  return rpcStream(call, results(call, ref, reducer, updates, historyLength));
}

/** Milliseconds that a stream waits for the graph's first output, which may be a message instead of a task. */
const FIRST_WORD_MS = 300;

/** The results of a stream's events: the task and its updates, or a message alone. */
async function* results(
  call: A2aCall,
  { ids }: TaskRef,
  reducer: TaskReducer,
  updates: AsyncGenerator<TaskUpdate, void, void>,
  historyLength: number | undefined,
): AsyncGenerator<unknown, void, void> {
  const { generation } = call;
  await addLinks(call, ids.taskId, reducer);
  const task = shorten(reducer.task(), historyLength);
  const early: TaskUpdate[] = [];
  const late = new Promise<"late">((resolve) => setTimeout(resolve, FIRST_WORD_MS, "late"));
  let next = updates.next();
  try {
    for (;;) {
      const first = await Promise.race([next, late]);
      if (first === "late" || first.done) break;
      if (first.value.kind === "message") return yield wrappedMessage(first.value.message, generation);
      early.push(first.value);
      next = updates.next();
      if (first.value.kind !== "status" || first.value.status.state !== "working") break;
    }
    yield wrappedTask(task, generation);
    // The task of a repeated request. 0.3 callers stop at an event with `final: true`.
    if (isSettled(task.status.state) && generation === "0.3")
      yield toWireUpdate({ kind: "status", status: task.status }, reducer, ids, generation);
    const shown = async (one: TaskUpdate) =>
      toWireUpdate(await withLinks(call, ids.taskId, reducer, one), reducer, ids, generation);
    for (const one of early) yield await shown(one);
    // A message that comes after the task is the message of its last status.
    for (let one = await next; !one.done; one = await updates.next()) {
      if (one.value.kind !== "message") yield await shown(one.value);
    }
  } finally {
    await updates.return();
  }
}

/** `tasks/resubscribe`: the task's current state, then its updates. No update is lost or repeated. */
export async function subscribe(call: A2aCall, given: unknown): Promise<Response> {
  const { id } = params(TaskQuery, given);
  const { ref, view } = await findTask(call, id);
  const { reducer, ended } = await readTask(ref, view);
  if (call.generation === "1.0" && isTerminal(reducer.state)) {
    throw unsupported(`The task is ${reducer.state}: nothing more comes. Get it instead.`);
  }
  return rpcStream(call, followResumed(call, ref, reducer, ended));
}

async function* followResumed(
  call: A2aCall,
  ref: TaskRef,
  reducer: TaskReducer,
  ended: number,
): AsyncGenerator<unknown, void, void> {
  const { generation } = call;
  const { ids } = ref;
  await addLinks(call, ids.taskId, reducer);
  const task = reducer.task();
  yield wrappedTask(task, generation);
  if (isSettled(task.status.state) && generation === "0.3") {
    // 0.3 callers stop at an event with `final: true`.
    return yield toWireUpdate({ kind: "status", status: task.status }, reducer, ids, generation);
  }
  // 1.0, section 3.1.6: the stream stays open until the task has ended, also while the task waits for its caller.
  const updates = generation === "0.3" ? follow(ref, reducer, ended) : followToEnd(ref, reducer, ended);
  for await (const update of updates) {
    if (update?.kind === "message") continue;
    yield update && toWireUpdate(await withLinks(call, ids.taskId, reducer, update), reducer, ids, generation);
  }
}
