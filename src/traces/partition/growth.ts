/** How a partition records that its day has grown (shards.ts), and which runs it accepts after that. */
import { isClosed, MOST_SHARDS } from "../shards.ts";

/** A new trace goes to another shard when this one is larger, bytes. A partition holds at most 10 GB, and open traces grow. */
const SHARD_BYTES = 6_000_000_000;

/** The number of shards that the day needs, now that a shard has this size. */
export function shardsNeeded(
  { TRACE_SHARD_BYTES }: Pick<Env, "TRACE_SHARD_BYTES">,
  { shard, shards, bytes }: { shard: number; shards: number; bytes: number },
): number {
  const isFull = bytes > (Number(TRACE_SHARD_BYTES) || SHARD_BYTES);
  return isFull && !isClosed(shard, shards) && shards < MOST_SHARDS ? shards * 2 : shards;
}

/** The ids of runs and traces in this shard, of roots whose feedback came first, and of deleted ones. */
export function heldIds(sql: SqlStorage, ids: string[]): string[] {
  if (ids.length === 0) return [];
  const rows = sql.exec<{ id: string }>(
    `SELECT j.value AS id FROM json_each(?) j WHERE EXISTS (SELECT 1 FROM runs WHERE id = j.value)
       OR EXISTS (SELECT 1 FROM runs WHERE trace_id = j.value)
       OR EXISTS (SELECT 1 FROM feedback WHERE run_id = j.value)
       OR EXISTS (SELECT 1 FROM deleted WHERE id = j.value)`,
    JSON.stringify(ids),
  );
  return rows.toArray().map(({ id }) => id);
}
