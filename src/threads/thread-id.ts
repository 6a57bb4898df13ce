/** Ids of threads, and the names of their objects. */
import { isUuid, deriveUuid } from "../lib/uuid.ts";

/**
 * The thread of a name, such as an A2A `contextId`. A UUID is the thread's own id; any other text, which callers are free
 * to choose, leads to the same UUID each time: a user's own, so that users may choose the same.
 */
export function deriveThreadId(name: string, user?: string): string {
  if (isUuid(name)) return name.toLowerCase();
  return deriveUuid(`a2a context ${user === undefined ? name : JSON.stringify([user, name])}`);
}

/** The name of a thread's object. It holds the workspace, so another workspace's id leads to an object that is empty. */
export const objectName = (workspaceId: string, threadId: string): string => `${workspaceId}:${threadId}`;

/** The ids that a thread's object has in its name. */
export function idsIn({ name = "" }: DurableObjectId): { workspaceId: string; threadId: string } {
  const colon = name.indexOf(":");
  return { workspaceId: name.slice(0, colon), threadId: name.slice(colon + 1) };
}
