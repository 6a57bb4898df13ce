/** Reads tasks from their threads' logs: their current state, and their updates. */
import { type EventMethod, type LogEvent, readEvents } from "../../threads/log/events.ts";
import type { ThreadRpc } from "../../threads/rpc.ts";
import { readJson } from "../../threads/remote.ts";
import type { TaskRun, TaskView } from "../../threads/types.ts";
import { taskNotFound } from "./errors.ts";
import { TaskReducer } from "./task-reducer.ts";
import { isSettled, isTerminal, type A2aTask, type TaskUpdate } from "./types.ts";

/** What of the log a task is made from. */
export const METHODS: EventMethod[] = ["metadata", "lifecycle", "messages", "custom", "input.requested"];

export interface TaskRef {
  thread: ThreadRpc;
  /** The task's id within its thread: its first run's. */
  runId: string;
  ids: { taskId: string; contextId: string };
}

const isOpen = ({ status }: TaskRun) => status === "pending" || status === "running";

/** The updates of one event, with what the log alone does not say. */
async function feedEvent({ thread, runId }: TaskRef, reducer: TaskReducer, event: LogEvent): Promise<TaskUpdate[]> {
  if (event.method !== "lifecycle" || event.ns.length > 0) return reducer.apply(event);
  const { event: what } = event.data as { event: string };
  if (what === "interrupted") {
    const run = (await thread.task(runId))?.runs.find(({ run_id }) => run_id === event.run);
    reducer.stopped = run?.stopped !== undefined;
  }
  if (what !== "completed" || !reducer.silent) return reducer.apply(event);
  const { messages: _, ...values } = await readJson(await thread.join(event.run));
  const result = Object.keys(values).length > 0 ? [reducer.result(values)] : [];
  return [...result, ...reducer.apply(event)];
}

/** The task's current state, and the index of its first open run: the number of ended runs. */
export async function readTask(ref: TaskRef, view: TaskView): Promise<{ reducer: TaskReducer; ended: number }> {
  const reducer = new TaskReducer(ref.ids);
  let ended = 0;
  for (const run of view.runs) {
    reducer.begin(run);
    const { first_seq, last_seq } = run;
    if (first_seq !== undefined) {
      const query = { after: first_seq - 1, runId: run.run_id, methods: METHODS, replayOnly: true };
      for await (const event of readEvents(await ref.thread.follow(query))) {
        await feedEvent(ref, reducer, event);
        if (event.seq === last_seq) break;
      }
    }
    // A run may have ended while it was read.
    if (isOpen(run) && !isSettled(reducer.state)) break;
    ended += 1;
  }
  settle(reducer, view);
  return { reducer, ended };
}

/** What happened to the task between its runs. */
function settle(reducer: TaskReducer, view: TaskView): TaskUpdate | undefined {
  const last = view.runs.at(-1);
  if (view.canceled !== undefined && last && !isOpen(last)) return reducer.cancel(view.canceled);
  // The conversation continued without an answer, so the task no longer waits for one.
  const forgotten = reducer.asks && last?.status === "interrupted" && view.waiting.length === 0;
  return forgotten && last ? reducer.cancel(Date.parse(last.updated_at)) : undefined;
}

/**
 * Updates from where `reducer` stands, until the task ends or waits. `ended` runs of the task have been read; `events`
 * may be the open tail of the next one, which `reducer` has begun.
 */
export async function* follow(
  ref: TaskRef,
  reducer: TaskReducer,
  ended: number,
  events?: ReadableStream<Uint8Array>,
): AsyncGenerator<TaskUpdate, void, void> {
  for await (const update of updates(ref, reducer, ended, { events })) if (update) yield update;
}

/**
 * Updates until the task has ended, over all its runs. While the task waits for its caller, undefined comes every few
 * seconds: a generator can only be left where it yields.
 */
export function followToEnd(
  ref: TaskRef,
  reducer: TaskReducer,
  ended: number,
): AsyncGenerator<TaskUpdate | undefined, void, void> {
  return updates(ref, reducer, ended, { stays: true });
}

async function* updates(
  ref: TaskRef,
  reducer: TaskReducer,
  ended: number,
  { events, stays = false }: { events?: ReadableStream<Uint8Array>; stays?: boolean },
): AsyncGenerator<TaskUpdate | undefined, void, void> {
  let tail = events;
  let fresh = false;
  for (let place = ended; ; place += 1) {
    let last: TaskUpdate | undefined;
    tail ??= await openTail(ref, reducer, place, fresh);
    if (!tail && stays) {
      if (!(yield* waitForCaller(ref, reducer, place))) return;
      tail = await openTail(ref, reducer, place, true);
    }
    if (!tail) return;
    for await (const event of readEvents(tail)) {
      for (const update of await feedEvent(ref, reducer, event)) {
        if (update.kind === "status" && isSettled(update.status.state)) last = update;
        else yield update;
      }
    }
    tail = undefined;
    fresh = true;
    const runs = (await ref.thread.task(ref.runId))?.runs.length ?? 0;
    // The task has received another message in the meantime, so it continues.
    if (runs > place + 1) continue;
    if (last) yield last;
    if (!stays || isTerminal(reducer.state)) return;
  }
}

/** Milliseconds after which a waiting task is read again: its cancellation is no event of the log. */
const LOOK_MS = 2_000;

/** Waits while the task waits for its caller. True when its next run is there, false when the task has ended. */
async function* waitForCaller(
  ref: TaskRef,
  reducer: TaskReducer,
  place: number,
): AsyncGenerator<TaskUpdate | undefined, boolean, void> {
  for (;;) {
    const seen = await ref.thread.lastSeq();
    const view = await ref.thread.task(ref.runId);
    if (!view) return false;
    if (view.runs.length > place) return true;
    const end = settle(reducer, view);
    if (end) {
      yield end;
      return false;
    }
    await nextEvent(ref, seen);
    yield undefined;
  }
}

/** Resolves at the thread's next run, at the latest after `LOOK_MS`. */
export async function nextEvent({ thread }: Pick<TaskRef, "thread">, after: number): Promise<void> {
  const reader = (await thread.follow({ after, methods: ["lifecycle"] })).getReader();
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([reader.read(), new Promise((resolve) => (timer = setTimeout(resolve, LOOK_MS)))]);
  clearTimeout(timer);
  await reader.cancel();
}

async function openTail(
  { thread, runId }: TaskRef,
  reducer: TaskReducer,
  place: number,
  fresh: boolean,
): Promise<ReadableStream<Uint8Array> | undefined> {
  const visible = await thread.lastSeq();
  const run = (await thread.task(runId))?.runs[place];
  if (!run) return undefined;
  if (fresh) reducer.begin(run);
  // A run that has not begun has no events up to now.
  const start = run.first_seq === undefined ? visible : run.first_seq - 1;
  return thread.follow({ after: Math.max(start, reducer.seq), runId: run.run_id, methods: METHODS });
}

/** The task's current state. Throws when it is deleted. */
export async function taskNow(ref: TaskRef): Promise<A2aTask> {
  const view = await ref.thread.task(ref.runId);
  if (!view) throw taskNotFound();
  return (await readTask(ref, view)).reducer.task();
}
