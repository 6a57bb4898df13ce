/** Deletes a thread with what depends on it. */
import { database } from "../../db/client.ts";
import { deleteCronsOn } from "./crons-store.ts";
import { threadStub } from "../stub.ts";

/** Deletes the thread and the crons on it. False when there was no such thread. */
export async function removeThread(env: Env, workspaceId: string, threadId: string): Promise<boolean> {
  const removed = await threadStub(env, workspaceId, threadId).remove();
  await deleteCronsOn(database(env.DB), workspaceId, [threadId]);
  return removed;
}
