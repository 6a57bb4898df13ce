/** Contexts are threads: which thread a context is, and which task an id names. */
import { createHash } from "node:crypto";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The thread of a context. A UUID is the thread's own id; any other text, which callers are free to choose, leads to the
 * same UUID each time (version 8, of its SHA-256): a user's own, so that users may choose the same.
 */
export function threadIdOf(contextId: string, user?: string): string {
  if (UUID.test(contextId)) return contextId.toLowerCase();
  const text = user === undefined ? contextId : JSON.stringify([user, contextId]);
  const bytes = createHash("sha256").update(`a2a context ${text}`).digest().subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

export const taskIdOf = (threadId: string, firstRunId: string): string => `${threadId}:${firstRunId}`;

/** The thread and the first run that a task id names; undefined when it cannot be one of ours. */
export function readTaskId(id: string): { threadId: string; runId: string } | undefined {
  const [threadId = "", runId = "", ...more] = id.split(":");
  return UUID.test(threadId) && UUID.test(runId) && more.length === 0
    ? { threadId: threadId.toLowerCase(), runId: runId.toLowerCase() }
    : undefined;
}
