/**
 * What a user of the deployment's own `Auth` may do: a task is a run on a thread, so the handlers of threads decide. All
 * other callers may do everything in their workspace.
 */
import type { Json } from "../lib/json.ts";
import { threadMetadata } from "../threads/api/access.ts";
import { authorize, containsJson } from "../access/users/handlers.ts";
import type { Call } from "../protocols/a2a/call.ts";
import { taskNotFound } from "../protocols/a2a/errors.ts";

export const callUser = ({ c }: Call): string | undefined => c.get("principal").user?.identity;

/** Throws that there is no such task unless the caller may do this with the thread; one that does not exist yet is free. */
export async function mayReach({ c, workspaceId }: Call, threadId: string, action: "read" | "update"): Promise<void> {
  const filter = await authorize(c.get("principal"), "threads", action, { thread_id: threadId });
  const metadata = filter && (await threadMetadata(c.env, workspaceId, threadId));
  if (metadata && !containsJson(metadata, filter)) throw taskNotFound();
}

/** What the metadata of a thread must contain for the caller to find its tasks; undefined: no limit. */
export async function mayFind({ c }: Call): Promise<Json | undefined> {
  return authorize(c.get("principal"), "threads", "search", { metadata: {} });
}
