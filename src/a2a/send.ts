/** `message/send`, `message/stream` and `tasks/resubscribe`: a task, and its updates. */
import { type Call, callDatabase, params, project, shorten } from "../protocols/a2a/call.ts";
import { answerStatus, update, wrappedMessage, wrappedTask } from "../protocols/a2a/dialect.ts";
import { unsupported } from "../protocols/a2a/errors.ts";
import { findTask } from "./find.ts";
import { follow, followToEnd, readTask, type TaskRef } from "../protocols/a2a/follow.ts";
import { addLinks, withLinks } from "../protocols/a2a/links.ts";
import type { TaskReducer } from "../protocols/a2a/task-reducer.ts";
import { rpcStream } from "../protocols/a2a/respond.ts";
import { Kinds, Send, TaskQuery } from "../protocols/a2a/schema.ts";
import { start } from "../protocols/a2a/send.ts";
import { type Generation, isSettled, isTerminal, type Update } from "../protocols/a2a/types.ts";

function parseSend({ generation }: Call, given: unknown): Send {
  const sent = params(Send, given);
  if (generation === "0.3") params(Kinds, given);
  return sent;
}

/** The answer to a send: the task when it has ended or waits, or immediately when the caller does not wait. */
export async function send(call: Call, given: unknown): Promise<unknown> {
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
function toWireUpdate(given: Update, reducer: TaskReducer, ids: TaskRef["ids"], generation: Generation): unknown {
  const isLast = given.kind === "status" && given.status.state === "completed";
  const shown = isLast && generation === "0.3" ? { ...given, status: answerStatus(reducer.task()) } : given;
  return update(shown, ids, generation);
}

/** The answer to a stream: SSE, until the task has ended or waits. */
export async function stream(call: Call, given: unknown): Promise<Response> {
  const sent = parseSend(call, given);
  const { ref, reducer, updates } = await start(call, sent);
  const { historyLength } = sent.configuration;
  return rpcStream(call, results(call, ref, reducer, updates, historyLength));
}

/** Milliseconds that a stream waits for the graph's first output, which may be a message instead of a task. */
const FIRST_WORD_MS = 300;

/** The results of a stream's events: the task and its updates, or a message alone. */
async function* results(
  call: Call,
  { ids }: TaskRef,
  reducer: TaskReducer,
  updates: AsyncGenerator<Update, void, void>,
  historyLength: number | undefined,
): AsyncGenerator<unknown, void, void> {
  const { generation } = call;
  await addLinks(call, ids.taskId, reducer);
  const task = shorten(reducer.task(), historyLength);
  const early: Update[] = [];
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
    const shown = async (one: Update) =>
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
export async function subscribe(call: Call, given: unknown): Promise<Response> {
  const { id } = params(TaskQuery, given);
  const { ref, view } = await findTask(call, id);
  const { reducer, ended } = await readTask(ref, view);
  if (call.generation === "1.0" && isTerminal(reducer.state)) {
    throw unsupported(`The task is ${reducer.state}: nothing more comes. Get it instead.`);
  }
  return rpcStream(call, followResumed(call, ref, reducer, ended));
}

async function* followResumed(
  call: Call,
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
