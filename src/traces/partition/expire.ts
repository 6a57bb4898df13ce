/** The end of a day's retention, while traces of it are kept for longer. */
import { database } from "../../db/client.ts";
import { CONNECTIONS, inParallel } from "../../lib/parallel.ts";
import { listPartitions, type PartitionRow } from "../projects/partitions.ts";
import { blobPrefix, tracePartition } from "../stub.ts";
import type { PartitionIdentity } from "../types.ts";
import { crossingUnkept } from "./crossing.ts";
import { DELETED_AT_ONCE, dropOthers, tracesBegunHere } from "./write/delete.ts";
import { holdsKept, holdsOthers, keepTraces, findKept } from "./kept.ts";
import { computeExpiry, deleteLinks } from "./retention.ts";
import { clearOpenBlocks } from "./write/seal.ts";

/** The most steps of `DELETED_AT_ONCE` runs of one alarm. */
const STEPS_AT_ONCE = 5;

/** When the kept traces are to be deleted: as those of a `longlived` project. Milliseconds; 0 without a kept trace. */
export function readKeptUntil(env: Env, sql: SqlStorage): number {
  if (!holdsKept(sql)) return 0;
  return computeExpiry(env, sql, { traceTier: "longlived", retentionDays: null, legalHold: false }) ?? 0;
}

/**
 * Notes which of the traces that began on an earlier day are kept there. A rule tells the day of a trace's root, because runs
 * of later days can come at any time.
 */
export async function loadKept(env: Env, sql: SqlStorage, identity: PartitionIdentity): Promise<void> {
  const { workspaceId, projectId } = identity;
  for (let traces = crossingUnkept(sql, ""); traces.length > 0; traces = crossingUnkept(sql, traces.at(-1)?.id ?? "")) {
    const begun = Map.groupBy(traces, (trace) => trace.day);
    const days = [...begun.keys()].toSorted();
    // One call of D1 for all of them: the days are those that clients have sent.
    const places = await listPartitions(database(env.DB), workspaceId, projectId, days[0] ?? "", days.at(-1) ?? "");
    const ask = async (place: PartitionRow) =>
      tracePartition(env, workspaceId, place).keptAmong((begun.get(place.day) ?? []).map(({ id }) => id));
    const among = places.filter(({ day }) => begun.has(day));
    keepTraces(sql, (await inParallel(among, CONNECTIONS, ask)).flat());
  }
}

/**
 * Deletes the traces that are not kept, with their links, as long as `isOver` says that their time is over: a write begins it
 * again. True when none is left.
 */
export async function dropExpired(
  env: Env,
  storage: DurableObjectStorage,
  identity: PartitionIdentity,
  isOver: () => boolean,
): Promise<boolean> {
  const { sql } = storage;
  if (holdsOthers(sql)) {
    await deleteLinks(env, identity, (shared) => {
      if (!isOver()) return [];
      const begun = tracesBegunHere(sql, shared);
      const kept = new Set(findKept(sql, begun));
      return begun.filter((id) => !kept.has(id));
    });
  }
  const prefix = blobPrefix(identity.workspaceId, identity);
  for (let step = 0; step < STEPS_AT_ONCE && isOver(); step++) {
    const gone = storage.transactionSync(() => {
      const runs = dropOthers(sql, prefix);
      if (runs < DELETED_AT_ONCE) clearOpenBlocks(sql);
      return runs;
    });
    // What one transaction wrote must have left before the next one, or memory fills with it.
    await storage.sync();
    if (gone < DELETED_AT_ONCE) return true;
  }
  return !isOver();
}
