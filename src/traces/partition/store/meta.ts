/** The metadata of a partition: its identity, its size, and the changes that are not yet written to D1. */
import type { TraceTier } from "../../projects/table.ts";
import { dayBounds } from "../../time.ts";
import type { PartitionIdentity, RunTimes } from "../../types.ts";

export interface Counts {
  rows: number;
  bytes: number;
  /** start_time of the newest run, microseconds. */
  lastStart: number;
  /** The number of the last change. Absent in a partition that has not changed since an earlier version. */
  changes?: number;
}

/** A change of a run's start_time (moves.ts). */
export interface Move {
  id: string;
  /** The start_time before. */
  from: number;
  change: number;
}

type Meta = {
  /** The format of the partition's storage (db/format.ts). */
  format: number;
  /** A partition of an earlier version has no shard in it: it is shard 0. */
  identity: Omit<PartitionIdentity, "shard"> & { shard?: number };
  /** How many shards the day has, as far as this one knows. Absent: one. */
  shards: number;
  counts: Counts;
  /** Milliseconds: when the last write came, from which retention counts. */
  written: number;
  /** Runs whose start_time has changed lately, oldest first. */
  moves: Move[];
  /** The highest number of a run at the last deletion. Absent: no run was deleted. */
  top: number;
  /** The counts that D1 has; while they differ from `counts`, the `trace_partitions` row is behind. */
  registered: Counts;
  /** The partition is being destroyed. Absent: it is not. */
  ending: true;
  /** What has been counted of the runs up to this number. */
  run_times: { through: number; times: RunTimes };
};

export function readMeta<K extends keyof Meta>(sql: SqlStorage, name: K): Meta[K] | undefined {
  const row = sql.exec<{ value: string }>("SELECT value FROM meta WHERE name = ?", name).toArray()[0];
  return row === undefined ? undefined : (JSON.parse(row.value) as Meta[K]);
}

export function readIdentity(sql: SqlStorage): PartitionIdentity | undefined {
  const identity = readMeta(sql, "identity");
  return identity && { shard: 0, ...identity };
}

export function writeMeta<K extends keyof Meta>(sql: SqlStorage, name: K, value: Meta[K]): void {
  sql.exec("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", name, JSON.stringify(value));
}

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
export function addToCounts(sql: SqlStorage, added: Omit<Counts, "changes">, change?: number): void {
  const counts = readMeta(sql, "counts") ?? { rows: 0, bytes: 0, lastStart: 0, changes: 0 };
  const changes = change ?? counts.changes;
  writeMeta(sql, "counts", {
    rows: counts.rows + added.rows,
    bytes: counts.bytes + added.bytes,
    lastStart: Math.max(counts.lastStart, added.lastStart),
    ...(changes === undefined ? {} : { changes }),
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
