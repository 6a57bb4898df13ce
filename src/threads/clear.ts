/** Deletes threads of a workspace, found by the index. */
import { moreRemain, MOST_THREADS, settleEach } from "./fan-out.ts";
import { type Json, threadStub } from "./rpc.ts";
import { removeRows, threadIds } from "./store.ts";

const PAGE = 100;

/**
 * Deletes the threads whose metadata contain `metadata`; all of them when none is given. One that cannot be deleted does not
 * keep the others; its error is thrown in the end. 503 when more than `MOST_THREADS` remain: repeated calls delete them all.
 */
export async function deleteThreads(env: Env, workspaceId: string, metadata?: Json): Promise<void> {
  const failed: unknown[] = [];
  for (let tried = 0, more = true; more; tried += PAGE) {
    if (tried >= MOST_THREADS) throw moreRemain();
    // What could not be deleted is still on the index, before all others.
    const found = await threadIds(env, workspaceId, { metadata, limit: PAGE, offset: failed.length });
    const rows = found.slice(0, PAGE);
    const removed = await settleEach(rows, ({ id }) => threadStub(env, workspaceId, id).remove());
    for (const result of removed) if (result.status === "rejected") failed.push(result.reason);
    // Rows without a thread. One that was made meanwhile has written its row anew.
    const stale = rows.filter((_, place) => {
      const result = removed[place];
      return result?.status === "fulfilled" && !result.value;
    });
    await removeRows(env, workspaceId, stale);
    more = found.length > PAGE;
  }
  if (failed.length > 0) throw failed[0];
}
