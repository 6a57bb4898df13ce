/** Tasks: runs that belong to one piece of work, such as a run that paused and the one that resumed it. */
import { remoteProblem } from "../../lib/problem.ts";
import type { ThreadContext } from "../context.ts";
import { interruptIds, listInterrupts } from "../interrupts/waiting.ts";
import type { Json } from "../../lib/json.ts";
import type { RunRequest } from "../rpc.ts";
import type { CancelAction, TaskView } from "../types.ts";
import { isOpen, findTask, toWireRun, type RunRecord } from "../run.ts";

interface Task {
  /** In the order of their creation. */
  runs: string[];
  /** When it was cancelled while none of its runs was open. */
  canceled?: number;
  /** The receivers of notifications when a run of the task begins or ends: by id, in the shape that the caller set. */
  hooks: Record<string, Json>;
}

function read(context: ThreadContext, taskId: string): Task | undefined {
  const text = context.tables.task(taskId);
  return text === undefined ? undefined : (JSON.parse(text) as Task);
}

function requireTask(context: ThreadContext, taskId: string): Task {
  const task = read(context, taskId);
  if (!task) throw remoteProblem(404, "Task not found.");
  return task;
}

/** Puts a new run into its task. Called inside the transaction that inserts the run. */
export function joinTask(context: ThreadContext, { task, run_id }: Pick<RunRequest, "task" | "run_id">): void {
  if (!task) return;
  const known = read(context, task.task_id) ?? { runs: [], hooks: {} };
  const hooks = { ...known.hooks, ...task.hooks };
  context.tables.putTask(task.task_id, JSON.stringify({ ...known, hooks, runs: [...known.runs, run_id] }));
}

/** The task with its runs; undefined when there is none of this id. */
export function viewTask(context: ThreadContext, taskId: string): TaskView | undefined {
  const task = read(context, taskId);
  if (!task) return undefined;
  const runs = task.runs.flatMap((id) => context.run(id) ?? []);
  const pending = listInterrupts(context.record?.interrupts);
  const raised = interruptIds(runs.at(-1)?.outcome.interrupts);
  return {
    runs: runs.map((run) => ({
      ...toWireRun(run, context),
      configurable: run.request.configurable ?? {},
      first_seq: run.outcome.first_seq,
      last_seq: run.outcome.last_seq,
      stopped: run.outcome.stopped,
      via: run.request.actor?.via,
    })),
    canceled: task.canceled,
    waiting: pending.filter(({ id }) => id !== undefined && raised.includes(id)),
    hooks: task.hooks,
  };
}

/**
 * Sets a hook of the task, or takes it away with `undefined`. Refuses more than `most`. An idle task notifies the new
 * hook at once: it may have come to rest before its caller could set the hook.
 */
export function setHook(
  context: ThreadContext,
  taskId: string,
  id: string,
  hook: Json | undefined,
  most: number,
): void {
  const task = requireTask(context, taskId);
  const { [id]: _before, ...others } = task.hooks;
  if (hook && Object.keys(others).length >= most) throw remoteProblem(409, `A task has at most ${most} of these.`);
  const open = task.runs.some((runId) => isOpen(context.run(runId)?.status ?? "success"));
  context.tables.transaction(() => {
    context.tables.putTask(taskId, JSON.stringify({ ...task, hooks: hook ? { ...others, [id]: hook } : others }));
    if (hook && !open) queueHooks(context, [id], { task_id: taskId, run_id: task.runs.at(-1) ?? "" });
  });
}

/** Marks a task without open runs as abandoned. */
function markCanceled(context: ThreadContext, taskId: string): void {
  const task = requireTask(context, taskId);
  context.tables.transaction(() => {
    context.tables.putTask(taskId, JSON.stringify({ ...task, canceled: Date.now() }));
    queueTask(context, taskId, task.runs.at(-1) ?? "");
  });
}

/** The runs of the thread. */
interface Runs {
  open: readonly RunRecord[];
  stopEach(ids: string[], action: CancelAction): void;
  ended(runId: string): Promise<unknown>;
}

/** Stops the runs of a task, and waits until they have ended. A task without open runs is marked as canceled. */
export async function cancelTask(context: ThreadContext, runs: Runs, taskId: string): Promise<void> {
  const ids = viewTask(context, taskId)?.runs.map((run) => run.run_id) ?? [];
  const open = runs.open.filter(({ id }) => ids.includes(id));
  runs.stopEach(ids, "interrupt");
  if (open.length === 0) markCanceled(context, taskId);
  await Promise.all(ids.map((id) => runs.ended(id)));
}

/**
 * Queues the notifications that a run of the task begins. A run that answers the task's question joins it. Called inside the transaction
 * that begins the run.
 */
export function queueTaskBegin(context: ThreadContext, run: RunRecord): void {
  const { id, request } = run;
  const task_id = findTask(run);
  if (task_id === undefined) return;
  if (!request.task) joinTask(context, { run_id: id, task: { task_id } });
  queueHooks(context, listHookIds(context, task_id), { task_id, run_id: id, began: true });
}

/** Queues what a run's end means for its task. Called inside the transaction that ends the run. */
export function queueTaskEffects(context: ThreadContext, run: RunRecord): void {
  const task_id = findTask(run);
  if (task_id !== undefined) queueTask(context, task_id, run.id);
}

function queueTask(context: ThreadContext, taskId: string, runId: string): void {
  const effect = { task_id: taskId, run_id: runId };
  context.tables.outbox.add("task", JSON.stringify(effect));
  queueHooks(context, listHookIds(context, taskId), effect);
}

const listHookIds = (context: ThreadContext, taskId: string) => Object.keys(read(context, taskId)?.hooks ?? {});

function queueHooks(context: ThreadContext, hooks: string[], effect: Json): void {
  for (const hook of hooks) context.tables.outbox.add("task-hook", JSON.stringify({ ...effect, hook }));
}
