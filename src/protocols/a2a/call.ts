/** One call of a method: who makes it, of which assistant, in which generation. */
import { isUuid } from "../../lib/uuid.ts";
import type { Context } from "hono";
import type { Assistant } from "../../agents/assistants/store.ts";
import { type Database, database } from "../../db/client.ts";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";
import { parse } from "../../http/validate.ts";
import type { TaskView } from "../../threads/types.ts";
import type * as v from "valibot";
import { invalidParams, taskNotFound } from "./errors.ts";
import type { Envelope } from "./schema.ts";
import { putTask } from "./store.ts";
import type { A2aGeneration, A2aTask } from "./types.ts";
import type { Json } from "../../lib/json.ts";
import { threadMetadata } from "../../threads/api/access.ts";
import { authorize, containsJson } from "../../access/users/handlers.ts";
import { threadStub } from "../../threads/remote.ts";
import type { TaskRef } from "./follow.ts";

// Ids of tasks: a task is named by its thread and its first run.

export const toTaskId = (threadId: string, firstRunId: string): string => `${threadId}:${firstRunId}`;

/** The thread and the first run that a task id names; undefined when it cannot be one of ours. */
export function readTaskId(id: string): { threadId: string; runId: string } | undefined {
  const [threadId = "", runId = "", ...more] = id.split(":");
  return isUuid(threadId) && isUuid(runId) && more.length === 0
    ? { threadId: threadId.toLowerCase(), runId: runId.toLowerCase() }
    : undefined;
}

export interface A2aCall {
  c: Context<App>;
  assistant: Assistant;
  workspaceId: string;
  envelope: Envelope;
  generation: A2aGeneration;
}

/** The parameters by a schema, or −32602 that names each fault and no value. */
export function params<S extends v.GenericSchema<unknown, unknown>>(schema: S, value: unknown): v.InferOutput<S> {
  try {
    return parse(schema, value, "params");
  } catch (error) {
    if (error instanceof Problem) throw invalidParams(error.detail, error.more.errors);
    throw error;
  }
}

export const callDatabase = ({ c }: A2aCall): Database => database(c.env.DB);

/** The contextId as its first message gave it. */
export function taskContext({ runs }: TaskView): string {
  const { context_id } = (runs[0]?.configurable.a2a ?? {}) as { context_id?: string };
  return context_id ?? "";
}

/** Writes the task's row of the list. A status without an end is dated by its beginning, so that its end is newer. */
export async function project(db: Database, workspaceId: string, assistantId: string, task: A2aTask): Promise<void> {
  const { state, timestamp } = task.status;
  const threadId = readTaskId(task.id)?.threadId ?? "";
  await putTask(db, { workspaceId, id: task.id, assistantId, threadId, state, updatedAt: Date.parse(timestamp) });
}

/** The task with the most recent `length` messages of its history. */
export function shorten(task: A2aTask, length: number | undefined): A2aTask {
  if (length === undefined) return task;
  return { ...task, history: length === 0 ? [] : task.history.slice(-length) };
}

// What a user of the deployment's own `Auth` may do: a task is a run on a thread, so the handlers of threads decide. All
// other callers may do everything in their workspace.

export const callUser = ({ c }: A2aCall): string | undefined => c.get("principal").user?.identity;

/** Throws that there is no such task unless the caller may do this with the thread; one that does not exist yet is free. */
export async function requireTaskAccess(
  { c, workspaceId }: A2aCall,
  threadId: string,
  action: "read" | "update",
): Promise<void> {
  const filter = await authorize(c.get("principal"), "threads", action, { thread_id: threadId });
  const metadata = filter && (await threadMetadata(c.env, workspaceId, threadId));
  if (metadata && !containsJson(metadata, filter)) throw taskNotFound();
}

/** What the metadata of a thread must contain for the caller to find its tasks; undefined: no limit. */
export async function requireFindable({ c }: A2aCall): Promise<Json | undefined> {
  return authorize(c.get("principal"), "threads", "search", { metadata: {} });
}

// Which task an id names: the caller's own, of this assistant.

interface FoundTask {
  ref: TaskRef;
  view: TaskView;
}

/** The task of this id that is the caller's to read or change, and this assistant's; anything else is not found. */
export async function findTask(call: A2aCall, id: string, action: "read" | "update" = "read"): Promise<FoundTask> {
  const named = readTaskId(id);
  if (named) await requireTaskAccess(call, named.threadId, action);
  return listedTask(call, id);
}

/** A task of which the caller is known to be allowed to read it. */
export async function listedTask(call: A2aCall, id: string): Promise<FoundTask> {
  const named = readTaskId(id);
  if (!named) throw taskNotFound();
  const { threadId, runId } = named;
  const thread = threadStub(call.c.env, call.workspaceId, threadId);
  const view = await thread.task(runId);
  const [first] = view?.runs ?? [];
  if (!view || first?.assistant_id !== call.assistant.assistant_id) throw taskNotFound();
  return { ref: { thread, runId, ids: { taskId: toTaskId(threadId, runId), contextId: taskContext(view) } }, view };
}
