/** Ids of tasks: a task is named by its thread and its first run. */
import { isUuid } from "../lib/uuid.ts";

export const toTaskId = (threadId: string, firstRunId: string): string => `${threadId}:${firstRunId}`;

/** The thread and the first run that a task id names; undefined when it cannot be one of ours. */
export function readTaskId(id: string): { threadId: string; runId: string } | undefined {
  const [threadId = "", runId = "", ...more] = id.split(":");
  return isUuid(threadId) && isUuid(runId) && more.length === 0
    ? { threadId: threadId.toLowerCase(), runId: runId.toLowerCase() }
    : undefined;
}
