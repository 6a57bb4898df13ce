/** The threads of a workspace that have an open run, by the index. */
import { toProblem } from "../../../lib/problem.ts";
import { forEach, moreRemain, MOST_THREADS, settleEach } from "../fan-out.ts";
import type { OpenRuns } from "../../rpc.ts";
import { INDEX_DELAY_MS } from "../../limits.ts";
import { threadStub } from "../../stub.ts";
import type { CancelAction, OpenRun } from "../../types.ts";
import { threadIds } from "../../search/store.ts";

/** The ids of at most `most` of them, and whether there are more. */
async function openThreads(env: Env, workspaceId: string, most: number): Promise<{ ids: string[]; more: boolean }> {
  const rows = await threadIds(env, workspaceId, { open: true, limit: most, offset: 0 });
  return { ids: rows.slice(0, most).map((row) => row.id), more: rows.length > most };
}

/** Open runs of one thread that are listed at most. */
const RUNS = 100;

/**
 * The open runs of at most `most` threads, the oldest first. `complete` is false when more threads are busy, when a thread has
 * more than 100 runs that wait, or when a thread did not answer.
 */
export async function openRuns(
  env: Env,
  workspaceId: string,
  most: number,
): Promise<{ runs: OpenRun[]; complete: boolean }> {
  const { ids, more } = await openThreads(env, workspaceId, most);
  // One that runs, those that wait, and one more that shows that the list is cut.
  const lists = await settleEach(ids, (id) => threadStub(env, workspaceId, id).openRuns(RUNS + 2));
  const found = lists.map((list) => (list.status === "fulfilled" ? list.value : undefined));
  const cut = found.some((runs, i) => (runs ? runs.length > RUNS + 1 : !isGone(lists[i])));
  const runs = found.flatMap((list = []) => list.slice(0, RUNS + 1));
  return {
    runs: runs.toSorted((a, b) => (a.created_at < b.created_at ? -1 : 1)),
    complete: !more && !cut,
  };
}

/** A thread that was deleted a moment ago has no runs. */
const isGone = (result: PromiseSettledResult<unknown> | undefined): boolean =>
  result?.status === "rejected" && toProblem(result.reason).status === 404;

/** Milliseconds after which the index has a run that began before, and its write. */
const INDEXED_MS = 5 * INDEX_DELAY_MS;

/**
 * Stops the open runs of all threads of the workspace: on `MOST_THREADS` at most, then 503 when more threads have one. The
 * index lists a thread a moment after its run has begun, so it is read a second time for the runs that were created before
 * this call.
 */
export async function cancelEverywhere(
  env: Env,
  workspaceId: string,
  status: OpenRuns["status"],
  action: CancelAction,
): Promise<void> {
  const before = Date.now() + 1;
  const cancel = (ids: string[], which: OpenRuns) =>
    forEach(ids, (id) => threadStub(env, workspaceId, id).cancelMany(which, action));
  const listed = await openThreads(env, workspaceId, MOST_THREADS);
  await cancel(listed.ids, { status });
  if (listed.more) throw moreRemain();
  await scheduler.wait(Math.max(0, before + INDEXED_MS - Date.now()));
  const called = new Set(listed.ids);
  const again = await openThreads(env, workspaceId, MOST_THREADS);
  const late = again.ids.filter((id) => !called.has(id));
  const most = MOST_THREADS - called.size;
  await cancel(late.slice(0, most), { status, createdBefore: before });
  if (again.more || late.length > most) throw moreRemain();
}
