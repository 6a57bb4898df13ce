/** The links by which the questions of a waiting task are answered, in the metadata of its status. */
import { issueLinks } from "../../threads/interrupts/links/links.ts";
import { serverAddress } from "../../http/context.ts";
import { threadMetadata } from "../../threads/api/access.ts";
import { authorize, containsJson } from "../../access/users/handlers.ts";
import { type A2aCall, readTaskId } from "./call.ts";
import type { TaskReducer } from "./task-reducer.ts";
import type { TaskUpdate } from "./types.ts";

/** Adds the links to the task when it waits on questions, and gives the changed status. None for a user who may not answer. */
export async function addLinks(call: A2aCall, taskId: string, reducer: TaskReducer): Promise<TaskUpdate | undefined> {
  if (!reducer.asks || !(await mayRespond(call, taskId))) return undefined;
  const { c, workspaceId } = call;
  return offerLinks({ env: c.env, workspaceId, address: serverAddress(c) }, taskId, reducer);
}

/** The same for a receiver of push notifications, who has been found to be allowed to answer. */
export async function offerLinks(
  place: { env: Env; workspaceId: string; address: string },
  taskId: string,
  reducer: TaskReducer,
): Promise<TaskUpdate | undefined> {
  const threadId = readTaskId(taskId)?.threadId;
  if (!reducer.asks || threadId === undefined) return undefined;
  const links = await issueLinks({ ...place, threadId }, "a2a", reducer.questions);
  return links.length > 0 ? reducer.offer(links) : undefined;
}

/** The update, with the links when the task begins to wait with it. */
export async function withLinks(
  call: A2aCall,
  taskId: string,
  reducer: TaskReducer,
  update: TaskUpdate,
): Promise<TaskUpdate> {
  if (update.kind !== "status" || update.status.state !== "input-required") return update;
  return (await addLinks(call, taskId, reducer)) ?? update;
}

/** Who reads a task may not be allowed to answer it: the deployment's own `Auth` decides. */
export async function mayRespond({ c, workspaceId }: A2aCall, taskId: string): Promise<boolean> {
  const principal = c.get("principal");
  const threadId = readTaskId(taskId)?.threadId;
  if (!principal.user || threadId === undefined) return threadId !== undefined;
  try {
    const filter = await authorize(principal, "threads", "create_run", { thread_id: threadId, metadata: {} });
    const metadata = filter && (await threadMetadata(c.env, workspaceId, threadId));
    return !filter || (metadata !== undefined && containsJson(metadata, filter));
  } catch {
    return false;
  }
}
