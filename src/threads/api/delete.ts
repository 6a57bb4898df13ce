/** Deletes threads of a workspace, found by the index. */
import type { Principal } from "../../http/principal.ts";
import { mayDelete } from "../../access/users/handlers.ts";
import { threadMetadata } from "./access.ts";
import { moreRemain, MAX_THREADS_PER_REQUEST, settleEach } from "../limits.ts";
import type { Json } from "../../lib/json.ts";
import { threadStub } from "../remote.ts";
import { removeRows, threadIds } from "../search/store.ts";

const PAGE = 100;

/** Ends what stands on threads that have been deleted: their crons. */
export type OnThreadsDeleted = (env: Env, workspaceId: string, threadIds: string[]) => Promise<void>;

/** Deletes those threads of the assistant that the principal may delete. */
export async function deleteAssistantThreads(
  env: Env,
  principal: Principal,
  assistant_id: string,
  onDeleted: OnThreadsDeleted,
): Promise<void> {
  const { workspaceId, user } = principal;
  const may = async (id: string) => {
    // The index may be behind the thread. A row without a thread is removed.
    const metadata = await threadMetadata(env, workspaceId, id);
    return metadata === undefined || mayDelete(principal, id, metadata);
  };
  // Authorization handlers apply to users only. For a key, no thread is read first.
  await deleteThreads(env, workspaceId, onDeleted, { assistant_id }, user && may);
}

/**
 * Deletes the threads whose metadata contain `metadata` (all of them without it) and of which `may` holds. When a thread
 * cannot be deleted, the others are, and then its error is thrown. 503 after `MOST_THREADS` threads when more remain; a
 * repeated call continues.
 */
export async function deleteThreads(
  env: Env,
  workspaceId: string,
  onDeleted: OnThreadsDeleted,
  metadata?: Json,
  may: (id: string) => Promise<boolean> = async () => true,
): Promise<void> {
  const failed: unknown[] = [];
  let kept = 0;
  for (let tried = 0, more = true; more; tried += PAGE) {
    if (tried >= MAX_THREADS_PER_REQUEST) throw moreRemain();
    // Threads that were not deleted stay on the index, before all others.
    const found = await threadIds(env, workspaceId, { metadata, limit: PAGE, offset: failed.length + kept });
    const rows = found.slice(0, PAGE);
    const results = await settleEach(rows, async ({ id }) => {
      if (!(await may(id))) return "kept";
      // The index may be behind the thread, which is that of another assistant by then.
      const removed = await threadStub(env, workspaceId, id).remove(metadata);
      return removed === true ? "removed" : removed === false ? "absent" : removed;
    });
    const outcomes = results.map((result) => (result.status === "fulfilled" ? result.value : "failed"));
    for (const result of results) if (result.status === "rejected") failed.push(result.reason);
    kept += outcomes.filter((outcome) => outcome === "kept").length;
    const removed = rows.filter((_, place) => outcomes[place] === "removed").map(({ id }) => id);
    if (removed.length > 0) await onDeleted(env, workspaceId, removed);
    // Rows without a thread. A thread that was made in the meantime has a new row, which stays.
    await removeRows(
      env,
      workspaceId,
      rows.filter((_, place) => outcomes[place] === "absent"),
    );
    more = found.length > PAGE;
  }
  if (failed.length > 0) throw failed[0];
}

// Deletes a thread with what depends on it.

/** Deletes the thread, its index row and what stands on it. False when there was neither a thread nor a row. */
export async function removeThread(
  env: Env,
  workspaceId: string,
  threadId: string,
  onDeleted: OnThreadsDeleted,
): Promise<boolean> {
  const removed = await threadStub(env, workspaceId, threadId).remove();
  const found = removed !== false || (await removeRow(env, workspaceId, threadId));
  await onDeleted(env, workspaceId, [threadId]);
  return found;
}

/** Removes the row of a thread that does not exist: its deletion may have stopped before the row was removed. */
async function removeRow(env: Env, workspaceId: string, id: string): Promise<boolean> {
  const [row] = await threadIds(env, workspaceId, { ids: [id], limit: 1, offset: 0 });
  // A thread that was made in the meantime keeps its row. One that is made from here on has a new revision.
  if (!row || (await threadStub(env, workspaceId, id).summary())) return false;
  await removeRows(env, workspaceId, [row]);
  return true;
}
