/** `/api/v1/activity`: the open runs of a workspace, and a stream of the threads that change, so that a page need not poll. */
import { toProblem } from "../../lib/problem.ts";
import { forEach, moreRemain, MAX_THREADS_PER_REQUEST, settleEach, INDEX_DELAY_MS } from "../limits.ts";
import type { OpenRuns } from "../rpc.ts";
import { threadStub } from "../remote.ts";
import { type CancelAction, OpenRun } from "../types.ts";
import { threadIds, readChanges, readShards } from "../search/store.ts";
import { Hono } from "hono";
import * as v from "valibot";
import { createDoc, EVENTS } from "../../http/route.ts";
import { whole } from "../../http/shapes.ts";
import { sseFrame, sseResponse } from "../../http/sse.ts";
import type { App } from "../../http/context.ts";
import { query } from "../../http/validate.ts";

// The threads of a workspace that have an open run, by the index.

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
  const listed = await openThreads(env, workspaceId, MAX_THREADS_PER_REQUEST);
  await cancel(listed.ids, { status });
  if (listed.more) throw moreRemain();
  await scheduler.wait(Math.max(0, before + INDEXED_MS - Date.now()));
  const called = new Set(listed.ids);
  const again = await openThreads(env, workspaceId, MAX_THREADS_PER_REQUEST);
  const late = again.ids.filter((id) => !called.has(id));
  const most = MAX_THREADS_PER_REQUEST - called.size;
  await cancel(late.slice(0, most), { status, createdBefore: before });
  if (again.more || late.length > most) throw moreRemain();
}

/** Milliseconds between two events: changes in between share the next one. */
const PAUSE = 500;

const RunsQuery = v.object({ threads: v.optional(whole(1, 500), "200") });

export const activity = new Hono<App>()
  .get(
    "/activity/runs",
    createDoc("Threads")(
      "The running and pending runs of all threads, oldest first",
      v.object({ runs: v.array(OpenRun), complete: v.boolean() }),
    ),
    query(RunsQuery),
    async (c) => c.json(await openRuns(c.env, c.get("principal").workspaceId, c.req.valid("query").threads)),
  )
  .get(
    "/activity/stream",
    createDoc("Threads")("Which threads of the workspace change, as they change (SSE)", EVENTS),
    async (c) => {
      const { workspaceId } = c.get("principal");
      const shards = await readShards(c.env, workspaceId);
      const following = Array.from({ length: shards }, (_, shard) => follow(c.env, workspaceId, shard));
      return sseResponse(mergeStreams(following));
    },
  );

/** The events of one shard of the index. */
async function* follow(env: Env, workspaceId: string, shard: number): AsyncGenerator<string> {
  let position: string | undefined;
  for (;;) {
    const next = await readChanges(env, workspaceId, shard, position);
    // The first answer says where the shard is. A client whose last read began before the last change reads again. The
    // event has a duration, not a time, because the clock of the client may differ.
    if (position === undefined) {
      yield sseFrame({ event: "open", data: JSON.stringify({ unchanged_ms: next.unchangedMs ?? null }) });
    }
    position = next.position;
    if (next.changes.length === 0) continue;
    const threads = next.changes.map(({ id, status, at }) => ({
      thread_id: id,
      status,
      updated_at: new Date(at).toISOString(),
    }));
    yield sseFrame({ event: "threads", data: JSON.stringify(threads) });
    await scheduler.wait(PAUSE);
  }
}

/** The items of all, as they come. */
async function* mergeStreams(sources: AsyncGenerator<string>[]): AsyncGenerator<string> {
  const pending = new Map(sources.map((source) => [source, readNext(source)]));
  try {
    while (pending.size > 0) {
      const { source, result } = await Promise.race(pending.values());
      if (result.done) pending.delete(source);
      else {
        pending.set(source, readNext(source));
        yield result.value;
      }
    }
  } finally {
    for (const source of sources) source.return(undefined).catch(() => undefined);
  }
}

const readNext = async (source: AsyncGenerator<string>) => ({ source, result: await source.next() });
