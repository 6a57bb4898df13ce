/**
 * What a user of the deployment's own `Auth` may do: a task is a run on a thread, so the handlers of threads decide. All
 * other callers may do everything in their workspace.
 */
import { threadStub } from "../threads/rpc.ts";
import { authorize, containsJson } from "../users/authorize.ts";
import type { Call } from "./call.ts";
import { taskNotFound } from "./errors.ts";

type Json = Record<string, unknown>;

export const userOf = ({ c }: Call): string | undefined => c.get("principal").user?.identity;

/** Throws that there is no such task unless the caller may do this with the thread; one that does not exist yet is free. */
export async function mayReach(
  { c, workspaceId }: Call,
  threadId: string,
  action: "read" | "update" | "create_run",
  value: Json = {},
): Promise<void> {
  const event = Object.assign(value, { thread_id: threadId });
  const filter = await authorize(c.get("principal"), "threads", action, event);
  const thread = filter && (await threadStub(c.env, workspaceId, threadId).get());
  if (thread && !containsJson(thread.metadata, filter)) throw taskNotFound();
}

/** What the metadata of a thread must contain for the caller to find its tasks; undefined: no limit. */
export async function mayFind({ c }: Call): Promise<Json | undefined> {
  return authorize(c.get("principal"), "threads", "search", { metadata: {} });
}

/** The run's metadata as the handlers leave it: it becomes that of a thread which the run makes. */
export async function mayRun(call: Call, threadId: string, kwargs: Json, metadata: Json): Promise<Json> {
  const value: Json = { assistant_id: call.assistant.assistant_id, metadata, kwargs };
  await mayReach(call, threadId, "create_run", value);
  return value.metadata as Json;
}
