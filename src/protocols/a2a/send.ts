/** A message becomes a run: of an existing task, or of a new one. */
import { hasMessages } from "../../agents/assistants/describe.ts";
import { isObject } from "../../lib/json.ts";
import { toProblem } from "../../lib/problem.ts";
import { idempotentId } from "../../http/idempotent-id.ts";
import { readConfigurable, runRequest } from "../../threads/api/request.ts";
import type { Json } from "../../lib/json.ts";
import { describeFirst } from "../../threads/interrupts/responses.ts";
import type { RunRequest } from "../../threads/rpc.ts";
import { threadStub } from "../../threads/remote.ts";
import type { TaskView } from "../../threads/types.ts";
import { deriveThreadId } from "../../threads/types.ts";
import { callUser } from "../../a2a/allowed.ts";
import { type Call, callDatabase, project } from "./call.ts";
import { toMessageContent, toState } from "../../a2a/content.ts";
import { readTaskId, toTaskId } from "../../a2a/context.ts";
import { contentNotSupported, invalidParams, taskNotFound, unsupported } from "./errors.ts";
import { findTask } from "../../a2a/find.ts";
import { follow, METHODS, readTask, type TaskRef } from "./follow.ts";
import { TaskReducer } from "./task-reducer.ts";
import { acceptParts } from "./modes.ts";
import { idsAnswered, toResume } from "./interrupts.ts";
import { toHook } from "./push.ts";
import type { Send } from "./schema.ts";
import { isTerminal, type Part, type PushConfig, type Update } from "./types.ts";

/** The target of a message: an existing task, or a new one. */
interface Target {
  ref: TaskRef;
  /** Undefined for a new task. It has the message's run when the client repeats a request under its Idempotency-Key. */
  known?: { view: TaskView; reducer: TaskReducer; ended: number };
}

async function findTarget(call: Call, { message }: Send, runId: string): Promise<Target> {
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
async function newContext(call: Call, runId: string): Promise<string> {
  const wanted = call.envelope.metadata?.thread_id;
  if (!wanted) return runId;
  const thread = threadStub(call.c.env, call.workspaceId, deriveThreadId(wanted, callUser(call)));
  const free = !(await thread.get()) || (await thread.task(runId)) !== undefined;
  return free ? wanted : runId;
}

async function newTask(call: Call, contextId: string, runId: string): Promise<Target> {
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
async function buildRunRequest(call: Call, sent: Send, { ref, known }: Target, runId: string): Promise<RunRequest> {
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
  const answers = findAnswered(given.command?.resume, waiting);
  return { ...request, answers, task: { task_id: ref.runId, ...hooks(call, configuration.push, known?.view.hooks) } };
}

/**
 * A message that says which question it answers is no next message of the task when the question has been answered: the refusal says
 * by whom.
 */
async function refuseLate({ thread }: TaskRef, parts: Part[], waiting: TaskView["waiting"]): Promise<void> {
  const late = idsAnswered(parts).filter((id) => !waiting.some((question) => question.id === id));
  const [first] = late.length > 0 ? Object.values(await thread.answersTaken(late)) : [];
  if (first) throw unsupported(`The question accepts one answer. ${describeFirst(first)}`);
}

async function buildInput({ c, assistant }: Call, { message, metadata }: Send, runId: string): Promise<Json> {
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
  call: Call,
  push: PushConfig | undefined,
  taken: TaskView["hooks"] = {},
): Partial<Pick<TaskView, "hooks">> {
  if (!push) return {};
  const { id, hook } = toHook(call, push, taken);
  return { hooks: { [id]: hook } };
}

/** The questions that a message answers; undefined when it answers none. */
function findAnswered(resume: unknown, waiting: TaskView["waiting"]): string[] | undefined {
  const ids = waiting.flatMap(({ id }) => id ?? []);
  const named = isObject(resume) ? ids.filter((id) => id in resume) : [];
  if (ids.length === 0) return undefined;
  return named.length > 0 ? named : ids;
}

/** How often a message is sent that finds its question answered. Each time, another message was earlier. */
const TRIES = 4;

interface Started {
  ref: TaskRef;
  reducer: TaskReducer;
  updates: AsyncGenerator<Update, void, void>;
}

/**
 * Starts the message's run. `updates` are the task's later updates. A request that is repeated under its Idempotency-Key
 * starts none: it gets the task's current state, and the later updates.
 */
export async function start(call: Call, sent: Send): Promise<Started> {
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
      if (attempt === TRIES || request.answers === undefined || toProblem(error).status !== 409) throw error;
    }
  }
}

async function startRun(
  call: Call,
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
