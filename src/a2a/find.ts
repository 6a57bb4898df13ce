/** Which task an id names: the caller's own, of this assistant. */
import { threadStub } from "../threads/remote.ts";
import type { TaskView } from "../threads/types.ts";
import { mayReach } from "./allowed.ts";
import { type Call, taskContext } from "../protocols/a2a/call.ts";
import { readTaskId, toTaskId } from "./context.ts";
import { taskNotFound } from "../protocols/a2a/errors.ts";
import type { TaskRef } from "../protocols/a2a/follow.ts";

interface Found {
  ref: TaskRef;
  view: TaskView;
}

/** The task of this id that is the caller's to read or change, and this assistant's; anything else is not found. */
export async function findTask(call: Call, id: string, action: "read" | "update" = "read"): Promise<Found> {
  const named = readTaskId(id);
  if (named) await mayReach(call, named.threadId, action);
  return listedTask(call, id);
}

/** A task of which the caller is known to be allowed to read it. */
export async function listedTask(call: Call, id: string): Promise<Found> {
  const named = readTaskId(id);
  if (!named) throw taskNotFound();
  const { threadId, runId } = named;
  const thread = threadStub(call.c.env, call.workspaceId, threadId);
  const view = await thread.task(runId);
  const [first] = view?.runs ?? [];
  if (!view || first?.assistant_id !== call.assistant.assistant_id) throw taskNotFound();
  return { ref: { thread, runId, ids: { taskId: toTaskId(threadId, runId), contextId: taskContext(view) } }, view };
}
