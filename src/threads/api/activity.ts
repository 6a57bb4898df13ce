/** `/api/v1/activity`: the open runs of a workspace, and a stream of the threads that change, so that a page need not poll. */
import { Hono } from "hono";
import * as v from "valibot";
import { createDoc, EVENTS } from "../../http/route.ts";
import { whole } from "../../http/shapes.ts";
import { sseFrame, sseResponse } from "../../http/sse.ts";
import type { App } from "../../http/context.ts";
import { query } from "../../http/validate.ts";
import { openRuns } from "../requests/runs/busy.ts";
import { OpenRun } from "../types.ts";
import { readChanges, readShards } from "../search/store.ts";

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
