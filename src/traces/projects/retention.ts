/** How long a project keeps its runs, and whether it may lose any. */
import { database } from "../../db/client.ts";
import { CONNECTIONS, inParallel } from "../../lib/parallel.ts";
import { Problem } from "../../lib/problem.ts";
import { tracePartition } from "../stub.ts";
import { allLocations, listPartitions } from "./partitions.ts";
import type { ProjectRow } from "./store.ts";
import { toDay } from "../time.ts";
import type { QueriedRun } from "../types.ts";

/** @throws Problem 409 when the project is on legal hold. */
export function refuseLegalHold(legalHold: boolean): void {
  if (legalHold)
    throw new Problem(
      409,
      "The project is on legal hold: nothing of it can be deleted. Set legal_hold to false first.",
    );
}

/**
 * Has every partition of the project compare its age with the project's retention. A partition sets its alarm for the end of
 * its days when it is written, and would not learn of a shorter retention before. It also stores the project's tier.
 */
export async function checkExpiry(env: Env, { workspaceId, id, traceTier }: ProjectRow): Promise<void> {
  const locations = await allLocations(database(env.DB), workspaceId, id);
  await inParallel(locations, CONNECTIONS, (location) =>
    tracePartition(env, workspaceId, location).checkExpiry(traceTier),
  );
}

// Keeping traces for longer than their project does.

type ExtendableRun = Pick<QueriedRun, "session_id" | "trace_id" | "shard" | "start_time" | "dotted_order">;

/**
 * Keeps the traces of these runs as long as those of `longlived` projects. Also noted on the days of their roots: the days after
 * that ask there when their time is over (partition/retention.ts). Each partition is called once.
 */
export async function extendTraces(env: Env, workspaceId: string, runs: ExtendableRun[]): Promise<void> {
  for (const [projectId, own] of Map.groupBy(runs, (run) => run.session_id)) {
    const marks = own.map(({ trace_id: id, shard, start_time, dotted_order }) => {
      const root = dotted_order.replace(/^(\d{4})(\d\d)(\d\d).*$/s, "$1-$2-$3");
      return { id, day: toDay(start_time), shard, root };
    });
    const [first, ...days] = marks.flatMap(({ day, root }) => (root === day ? [] : root)).toSorted();
    const last = days.at(-1) ?? first;
    const begun = first && last ? await listPartitions(database(env.DB), workspaceId, projectId, first, last) : [];
    const all = marks.flatMap(({ id, day, shard, root }) => [
      { id, day, shard },
      ...begun.filter((partition) => partition.day === root).map(({ day, shard }) => ({ id, day, shard })),
    ]);
    const calls = Map.groupBy(all, ({ day, shard }) => `${day} ${shard}`).values();
    await inParallel(calls, CONNECTIONS, async ([one, ...others]) => {
      if (!one) return;
      const partition = tracePartition(env, workspaceId, { projectId, day: one.day, shard: one.shard });
      await partition.keepTraces([one, ...others].map(({ id }) => id));
    });
  }
}
