/** Contexts are threads: which thread a context is, and which task an id names. */
import { isUuid, uuidOf } from "../http/uuid.ts";

/**
 * The thread of a context. A UUID is the thread's own id; any other text, which callers are free to choose, leads to the
 * same UUID each time: a user's own, so that users may choose the same.
 */
export function threadIdOf(contextId: string, user?: string): string {
  if (isUuid(contextId)) return contextId.toLowerCase();
  return uuidOf(`a2a context ${user === undefined ? contextId : JSON.stringify([user, contextId])}`);
}

export const taskIdOf = (threadId: string, firstRunId: string): string => `${threadId}:${firstRunId}`;

/** The thread and the first run that a task id names; undefined when it cannot be one of ours. */
export function readTaskId(id: string): { threadId: string; runId: string } | undefined {
  const [threadId = "", runId = "", ...more] = id.split(":");
  return isUuid(threadId) && isUuid(runId) && more.length === 0
    ? { threadId: threadId.toLowerCase(), runId: runId.toLowerCase() }
    : undefined;
}
