/** Deletes threads of a workspace, found by the index. */
import { moreRemain, MOST_THREADS, settleEach } from "./fan-out.ts";
import { type Json, threadStub } from "./rpc.ts";
import { removeRows, threadIds } from "./store.ts";

const PAGE = 100;

/**
 * Deletes the threads whose metadata contain `metadata`; without it, all of them. When a thread cannot be deleted, the
 * others are, and then its error is thrown. 503 after `MOST_THREADS` threads when more remain; a repeated call continues.
 */
export async function deleteThreads(env: Env, workspaceId: string, metadata?: Json): Promise<void> {
  const failed: unknown[] = [];
  for (let tried = 0, more = true; more; tried += PAGE) {
    if (tried >= MOST_THREADS) throw moreRemain();
    // Threads that could not be deleted stay on the index, before all others.
    const found = await threadIds(env, workspaceId, { metadata, limit: PAGE, offset: failed.length });
    const rows = found.slice(0, PAGE);
    const removed = await settleEach(rows, ({ id }) => threadStub(env, workspaceId, id).remove());
    for (const result of removed) if (result.status === "rejected") failed.push(result.reason);
    // Rows without a thread. A thread that was made in the meantime has a new row, which stays.
    const stale = rows.filter((_, place) => {
      const result = removed[place];
      return result?.status === "fulfilled" && !result.value;
    });
    await removeRows(env, workspaceId, stale);
    more = found.length > PAGE;
  }
  if (failed.length > 0) throw failed[0];
}
