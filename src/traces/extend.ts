/** Keeping a trace for longer than its project does. */
import { database } from "../db/client.ts";
import { listPartitions } from "./store/partition-store.ts";
import { tracePartition } from "./stub.ts";
import { toDay } from "./time.ts";
import type { QueriedRun } from "./types.ts";

type Known = Pick<QueriedRun, "session_id" | "trace_id" | "shard" | "start_time" | "dotted_order">;

/**
 * Keeps the trace of a run as long as those of `longlived` projects. Also noted on the day of its root: the days after that ask
 * there when their time is over (partition/expire.ts).
 */
export async function extendTrace(env: Env, workspaceId: string, run: Known): Promise<void> {
  const { session_id: projectId, trace_id, shard, start_time, dotted_order } = run;
  const day = toDay(start_time);
  const root = dotted_order.replace(/^(\d{4})(\d\d)(\d\d).*$/s, "$1-$2-$3");
  const begun = root === day ? [] : await listPartitions(database(env.DB), workspaceId, projectId, root, root);
  for (const place of [...begun, { projectId, day, shard }])
    await tracePartition(env, workspaceId, place).keepTraces([trace_id]);
}
