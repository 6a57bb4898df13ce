/** The threads of a workspace that have an open run, by the index. */
import { forEach, moreRemain, MOST_THREADS } from "../fan-out.ts";
import type { OpenRuns } from "../rpc.ts";
import { threadStub } from "../stub.ts";
import type { CancelAction } from "../types.ts";
import { threadIds } from "../store.ts";

/** The ids of at most `most` of them, and whether there are more. */
export async function busyThreads(
  env: Env,
  workspaceId: string,
  most: number,
): Promise<{ ids: string[]; more: boolean }> {
  const rows = await threadIds(env, workspaceId, { status: "busy", limit: most, offset: 0 });
  return { ids: rows.slice(0, most).map((row) => row.id), more: rows.length > most };
}

/** Stops open runs on all threads of the workspace: on `MOST_THREADS` at most, then 503 when more threads are busy. */
export async function cancelEverywhere(
  env: Env,
  workspaceId: string,
  status: OpenRuns["status"],
  action: CancelAction,
): Promise<void> {
  const { ids, more } = await busyThreads(env, workspaceId, MOST_THREADS);
  await forEach(ids, (id) => threadStub(env, workspaceId, id).cancelMany({ status }, action));
  if (more) throw moreRemain();
}
