/** How a partition records that its day has grown (shards.ts), and which runs it accepts after that. */
import { EARLY, lookupIds, isClosed, MOST_SHARDS, findTraceId } from "../shards.ts";
import type { RunWrite } from "../types.ts";
import { numbersOfTraces } from "../run-groups.ts";
import { numbersOfId } from "./store/ids.ts";

/** A new trace goes to another shard when this one is larger, bytes. A partition holds at most 10 GB, and open traces grow. */
const SHARD_BYTES = 6_000_000_000;
/** Of one answer. The next write of these runs finds the others. */
const MOST_EARLY = 10_000;

/** The number of shards that the day needs, now that a shard has this size. */
export function shardsNeeded(
  { TRACE_SHARD_BYTES }: Pick<Env, "TRACE_SHARD_BYTES">,
  { shard, shards, bytes }: { shard: number; shards: number; bytes: number },
): number {
  const isFull = bytes > (Number(TRACE_SHARD_BYTES) || SHARD_BYTES);
  return isFull && !isClosed(shard, shards) && shards < MOST_SHARDS ? shards * 2 : shards;
}

/** Feedback of this shard on these runs that are not here: `EARLY` and its id. Their shard takes it (feedback/move.ts). */
export function earlyFeedback(sql: SqlStorage, runIds: string[]): string[] {
  const rows = sql.exec<{ id: string }>(
    `SELECT f.id FROM feedback f WHERE f.run_id IN (SELECT value FROM json_each(?))
       AND NOT EXISTS ${numbersOfId("f.run_id")} LIMIT ${MOST_EARLY}`,
    JSON.stringify(runIds),
  );
  return rows.toArray().map(({ id }) => EARLY + id);
}

/**
 * The ids of runs and traces in this shard, of deleted ones, and of traces whose feedback came first. `traces` are the ids that are
 * of a trace for certain: a run below the root goes to its trace, not to its own feedback.
 */
export function findHeldIds(sql: SqlStorage, ids: string[], traces: string[]): string[] {
  if (ids.length === 0) return [];
  const rows = sql.exec<{ id: string }>(
    `SELECT j.value AS id FROM json_each(?) j WHERE EXISTS ${numbersOfId("j.value")}
       OR EXISTS ${numbersOfTraces("SELECT j.value AS id")}
       OR EXISTS (SELECT 1 FROM deleted WHERE id = j.value)
     UNION SELECT j.value FROM json_each(?) j WHERE EXISTS (SELECT 1 FROM feedback WHERE trace_id = j.value)`,
    JSON.stringify(ids),
    JSON.stringify(traces),
  );
  return rows.toArray().map(({ id }) => id);
}

/** The writes of what this shard holds. */
export function heldWrites(sql: SqlStorage, writes: RunWrite[]): RunWrite[] {
  const traces = writes.map(findTraceId).filter((id) => id !== undefined);
  const held = new Set(findHeldIds(sql, [...new Set(writes.flatMap(lookupIds))], [...new Set(traces)]));
  return writes.filter((write) => lookupIds(write).some((id) => held.has(id)));
}
