/** One call of a method: who makes it, of which assistant, in which generation. */
import type { Context } from "hono";
import type { Assistant } from "../../agents/assistants/store.ts";
import { type Database, database } from "../../db/client.ts";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";
import { parse } from "../../http/validate.ts";
import type { TaskView } from "../../threads/types.ts";
import type * as v from "valibot";
import { readTaskId } from "../../a2a/context.ts";
import { invalidParams } from "./errors.ts";
import type { Envelope } from "./schema.ts";
import { putTask } from "./store.ts";
import type { Generation, Task } from "./types.ts";

export interface Call {
  c: Context<App>;
  assistant: Assistant;
  workspaceId: string;
  envelope: Envelope;
  generation: Generation;
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

export const callDatabase = ({ c }: Call): Database => database(c.env.DB);

/** The contextId as its first message gave it. */
export function taskContext({ runs }: TaskView): string {
  const { context_id } = (runs[0]?.configurable.a2a ?? {}) as { context_id?: string };
  return context_id ?? "";
}

/** Writes the task's row of the list. A status without an end is dated by its beginning, so that its end is newer. */
export async function project(db: Database, workspaceId: string, assistantId: string, task: Task): Promise<void> {
  const { state, timestamp } = task.status;
  const threadId = readTaskId(task.id)?.threadId ?? "";
  await putTask(db, { workspaceId, id: task.id, assistantId, threadId, state, updatedAt: Date.parse(timestamp) });
}

/** The task with the most recent `length` messages of its history. */
export function shorten(task: Task, length: number | undefined): Task {
  if (length === undefined) return task;
  return { ...task, history: length === 0 ? [] : task.history.slice(-length) };
}
