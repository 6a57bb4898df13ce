/** Deletes a thread with what depends on it. */
import { database } from "../../db/client.ts";
import { removeRows, threadIds } from "../search/store.ts";
import { threadStub } from "../stub.ts";
import { deleteCronsOn } from "./crons-store.ts";

/** Deletes the thread, its index row and the crons on it. False when there was neither a thread nor a row. */
export async function removeThread(env: Env, workspaceId: string, threadId: string): Promise<boolean> {
  const removed =
    (await threadStub(env, workspaceId, threadId).remove()) || (await removeRow(env, workspaceId, threadId));
  await deleteCronsOn(database(env.DB), workspaceId, [threadId]);
  return removed;
}

/** Removes the row of a thread that does not exist: its deletion may have stopped before the row was removed. */
async function removeRow(env: Env, workspaceId: string, id: string): Promise<boolean> {
  const [row] = await threadIds(env, workspaceId, { ids: [id], limit: 1, offset: 0 });
  // A thread that was made in the meantime keeps its row. One that is made from here on has a new revision.
  if (!row || (await threadStub(env, workspaceId, id).standing())) return false;
  await removeRows(env, workspaceId, [row]);
  return true;
}
