/** The metadata of a partition: its identity, its size, and the changes that are not yet written to D1. */
import { readMeta as readMetaRow, writeMeta as writeMetaRow } from "../../../lib/object-tables.ts";
import type { TraceTier } from "../../projects/table.ts";
import { dayBounds } from "../../time.ts";
import type { PartitionIdentity, RunTimes, RunWrite } from "../../types.ts";
import { EARLY, lookupIds, isClosed, MAX_SHARDS, findTraceId } from "../../locate.ts";
import { numbersOfTraces, numbersOfId } from "./ids.ts";

export interface PartitionCounts {
  rows: number;
  bytes: number;
  /** start_time of the newest run, microseconds. */
  lastStart: number;
  /** The number of the last change. */
  changes: number;
}

/** A change of a run's start_time (changes.ts). */
export interface RunMove {
  id: string;
  /** The start_time before. */
  from: number;
  change: number;
}

type Meta = {
  identity: PartitionIdentity;
  /** How many shards the day has, as far as this one knows. Absent: one. */
  shards: number;
  counts: PartitionCounts;
  /** Milliseconds: when the last write came, from which retention counts. */
  written: number;
  /** Runs whose start_time has changed lately, oldest first. */
  moves: RunMove[];
  /** The highest number of a run at the last deletion. Absent: no run was deleted. */
  top: number;
  /** The counts that D1 has; while they differ from `counts`, the `trace_partitions` row is behind. */
  registered: PartitionCounts;
  /** The partition is being destroyed. Absent: it is not. */
  ending: true;
  /** What has been counted of the runs up to this number. */
  run_times: { through: number; times: RunTimes };
};

export const readMeta = <K extends keyof Meta>(sql: SqlStorage, name: K): Meta[K] | undefined =>
  readMetaRow(sql, name) as Meta[K] | undefined;

export const writeMeta = <K extends keyof Meta>(sql: SqlStorage, name: K, value: Meta[K]): void =>
  writeMetaRow(sql, name, value);

/** Stores what the partition is, if it does not know. A shard without runs is registered, too, so that it is found and expires. */
export function identify(sql: SqlStorage, identity: PartitionIdentity): void {
  if (readMeta(sql, "identity")) return;
  writeMeta(sql, "identity", identity);
  addToCounts(sql, { rows: 0, bytes: 0, lastStart: 0 });
  noteWritten(sql, dayBounds(identity.day).end / 1000);
}

/** Stores the tier that the project has now. Writes bring one, too, but theirs can be some seconds old. */
export function writeTier(sql: SqlStorage, traceTier: TraceTier): void {
  const identity = readMeta(sql, "identity");
  if (identity && identity.traceTier !== traceTier) writeMeta(sql, "identity", { ...identity, traceTier });
}

/**
 * The highest number that a run has or had. Numbers are not used again: the block of a deleted run can be sealed, and a sealed
 * block is not read for runs that it did not have.
 */
export function lastNumber(sql: SqlStorage): number {
  const { last } = sql.exec<{ last: number | null }>("SELECT max(n) AS last FROM runs").one();
  return Math.max(last ?? 0, readMeta(sql, "top") ?? 0);
}

/**
 * Changes the counts in the transaction that writes or deletes runs, with the number of the change if it has one. The alarm writes
 * the counts to D1 later.
 */
export function addToCounts(sql: SqlStorage, added: Omit<PartitionCounts, "changes">, change?: number): void {
  const counts = readMeta(sql, "counts") ?? { rows: 0, bytes: 0, lastStart: 0, changes: 0 };
  writeMeta(sql, "counts", {
    rows: counts.rows + added.rows,
    bytes: counts.bytes + added.bytes,
    lastStart: Math.max(counts.lastStart, added.lastStart),
    changes: change ?? counts.changes,
  });
}

/** How exact `written` is while the partition's day lasts, milliseconds. Retention counts from the end of the day at least. */
const EXACT_MS = 60_000;

/** Notes that a write came. Deletions do not call this, because retention counts from the last write. */
export function noteWritten(sql: SqlStorage, dayEnd: number): void {
  const now = Date.now();
  const isKnown = now < dayEnd && now - (readMeta(sql, "written") ?? 0) < EXACT_MS;
  if (!isKnown) writeMeta(sql, "written", now);
}

// How a partition records that its day has grown (shards.ts), and which runs it accepts after that.

/** A new trace goes to another shard when this one is larger, bytes. A partition holds at most 10 GB, and open traces grow. */
const SHARD_BYTES = 6_000_000_000;
/** Of one answer. The next write of these runs finds the others. */
const MAX_EARLY = 10_000;

/** The number of shards that the day needs, now that a shard has this size. */
export function shardsNeeded(
  { TRACE_SHARD_BYTES }: Pick<Env, "TRACE_SHARD_BYTES">,
  { shard, shards, bytes }: { shard: number; shards: number; bytes: number },
): number {
  const isFull = bytes > (Number(TRACE_SHARD_BYTES) || SHARD_BYTES);
  return isFull && !isClosed(shard, shards) && shards < MAX_SHARDS ? shards * 2 : shards;
}

/** Feedback of this shard on these runs that are not here: `EARLY` and its id. Their shard takes it (ingest/stored.ts). */
export function earlyFeedback(sql: SqlStorage, runIds: string[]): string[] {
  const rows = sql.exec<{ id: string }>(
    `SELECT f.id FROM feedback f WHERE f.run_id IN (SELECT value FROM json_each(?))
       AND NOT EXISTS ${numbersOfId("f.run_id")} LIMIT ${MAX_EARLY}`,
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
export function writesOfHeldRuns(sql: SqlStorage, writes: RunWrite[]): RunWrite[] {
  const traces = writes.map(findTraceId).filter((id) => id !== undefined);
  const held = new Set(findHeldIds(sql, [...new Set(writes.flatMap(lookupIds))], [...new Set(traces)]));
  return writes.filter((write) => lookupIds(write).some((id) => held.has(id)));
}
