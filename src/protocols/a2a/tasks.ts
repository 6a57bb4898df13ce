/** `tasks/get`, `tasks/list` and `tasks/cancel`. */
import { forEach } from "../../threads/limits.ts";
import { deriveThreadId } from "../../threads/types.ts";
import {
  requireFindable,
  callUser,
  type A2aCall,
  callDatabase,
  params,
  project,
  shorten,
  listedTask,
  findTask,
} from "./call.ts";
import { translateTask as shownTask } from "./dialect.ts";
import { invalidParams, notCancelable, RpcError, taskNotFound } from "./errors.ts";
import { readTask, taskNow } from "./follow.ts";
import { addLinks } from "./links.ts";
import { List, TaskQuery } from "./schema.ts";
import { countTasks, listTasks, removeTask, type TaskCursor, type TaskRow, visibleTasks } from "./store.ts";
import { isTerminal, type A2aTask } from "./types.ts";

const PAGE = 50;

/** The task's current state. */
export async function get(call: A2aCall, given: unknown): Promise<unknown> {
  const { id, contextId, historyLength } = params(TaskQuery, given);
  const { ref, view } = await findTask(call, id);
  if (contextId && contextId !== ref.ids.contextId) throw taskNotFound();
  const { reducer } = await readTask(ref, view);
  await addLinks(call, ref.ids.taskId, reducer);
  return shownTask(shorten(reducer.task(), historyLength), call.generation);
}

/** Stops the task; refused when it has ended. */
export async function cancel(call: A2aCall, given: unknown): Promise<unknown> {
  const { id } = params(TaskQuery, given);
  const { ref, view } = await findTask(call, id, "update");
  const { state } = (await readTask(ref, view)).reducer;
  if (isTerminal(state)) throw notCancelable(state);
  await ref.thread.cancelTask(ref.runId);
  const task = await taskNow(ref);
  await project(callDatabase(call), call.workspaceId, call.assistant.assistant_id, task);
  // It ended just before.
  if (task.status.state !== "canceled") throw notCancelable(task.status.state);
  return shownTask(task, call.generation);
}

/** A page of the assistant's tasks, newest status first, each read from its thread. */
export async function listResponse(call: A2aCall, given: unknown): Promise<unknown> {
  const { contextId, status, pageSize, pageToken, historyLength, statusTimestampAfter, includeArtifacts } = params(
    List,
    given,
  );
  const filter = {
    workspaceId: call.workspaceId,
    assistantId: call.assistant.assistant_id,
    threadId: contextId ? deriveThreadId(contextId, callUser(call)) : undefined,
    state: status,
    after: statusTimestampAfter === undefined ? undefined : Date.parse(statusTimestampAfter),
  };
  const size = pageSize || PAGE;
  const db = callDatabase(call);
  const cursor = pageToken ? parseCursor(pageToken) : undefined;
  const metadata = await requireFindable(call);
  const [rows, totalSize] = metadata
    ? await listVisible(
        visibleTasks(call.c.env, db, filter, metadata, cursor),
        visibleTasks(call.c.env, db, filter, metadata),
        size,
      )
    : await Promise.all([listTasks(db, filter, size, cursor), countTasks(db, filter)]);
  const page = rows.slice(0, size);
  const tasks = await forEach(page, (row) => taskOfRow(call, row));
  const last = rows.length > size ? page.at(-1) : undefined;
  return {
    tasks: tasks
      .flatMap((task) => task ?? [])
      .map((task) => shownTask(shorten(task, historyLength), call.generation, includeArtifacts ?? false)),
    nextPageToken: last ? formatCursor(last) : "",
    pageSize: size,
    totalSize,
  };
}

/** One row more than `size` of the tasks `from` a cursor on, and how many there are in `all`. */
async function listVisible(
  from: AsyncIterable<TaskRow>,
  all: AsyncIterable<TaskRow>,
  size: number,
): Promise<[TaskRow[], number]> {
  const rows: TaskRow[] = [];
  for await (const row of from) if (rows.push(row) > size) break;
  let count = 0;
  for await (const _row of all) count += 1;
  return [rows, count];
}

/** The task of a row. When its thread is deleted: undefined, and the row is removed. */
async function taskOfRow(call: A2aCall, { id }: TaskRow): Promise<A2aTask | undefined> {
  try {
    const { ref, view } = await listedTask(call, id);
    return (await readTask(ref, view)).reducer.task();
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    await removeTask(callDatabase(call), call.workspaceId, id);
    return undefined;
  }
}

const formatCursor = ({ updatedAt, id }: TaskRow): string => btoa(`${updatedAt} ${id}`);

function parseCursor(token: string): TaskCursor {
  const fault = () => invalidParams("params.pageToken is not one that this server gave.");
  try {
    const match = /^(\d{1,16}) (\S+)$/.exec(atob(token));
    if (!match) throw fault();
    return { updatedAt: Number(match[1]), id: match[2] ?? "" };
  } catch {
    throw fault();
  }
}
