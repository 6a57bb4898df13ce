/**
 * The changes of a partition's runs, numbered in ascending order. Each transaction that changes runs has a number, and a run has
 * the number of its last change. An export notes the number of the last change that it has seen, and so knows later what came
 * after it. A number is at least the time in milliseconds: a partition that is destroyed and made again has lost its counter,
 * and its numbers must be above those that exports have noted.
 */
import { OF_TRACES, OF_IDS } from "./ids.ts";
import { addToCounts, readMeta, type RunMove, writeMeta } from "./meta.ts";
import type { RunPosition } from "../../types.ts";
import type { MovedRun } from "../../columns.ts";

export function lastChange(sql: SqlStorage): number {
  return readMeta(sql, "counts")?.changes ?? 0;
}

/** The number for a new change. `addToCounts` notes it. */
export function newChange(sql: SqlStorage): number {
  return Math.max(lastChange(sql) + 1, Date.now());
}

/** The number of a new change, noted. To be called once in a transaction that changes runs. */
export function nextChange(sql: SqlStorage): number {
  const changes = newChange(sql);
  addToCounts(sql, { rows: 0, bytes: 0, lastStart: 0 }, changes);
  return changes;
}

/** Gives runs the number of a change, by their ids or by their traces. */
export function numberRuns(sql: SqlStorage, change: number, by: "id" | "trace", ids: string[]): void {
  if (ids.length === 0) return;
  const these = by === "id" ? OF_IDS : OF_TRACES;
  sql.exec(`UPDATE runs SET change = ? WHERE change <> ? AND n IN ${these}`, change, change, JSON.stringify(ids));
}

/** The number of the first run that a later change has inserted. Runs are inserted in the order of their numbers. */
export function firstInsertedAfter(sql: SqlStorage, change: number): number {
  let [low, high] = [1, (sql.exec<{ last: number | null }>("SELECT max(n) AS last FROM runs").one().last ?? 0) + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const { n, first_change } = sql
      .exec<{ n: number; first_change: number }>(
        "SELECT n, first_change FROM runs WHERE n >= ? ORDER BY n LIMIT 1",
        middle,
      )
      .one();
    if (first_change > change) high = middle;
    else low = n + 1;
  }
  return low;
}

// Runs whose start_time has changed. An export reads in the order of start_time, and must not read such a run twice.

/** As long as an export lasts. Numbers of changes are milliseconds (changes.ts). */
const KEPT_MS = 72 * 3_600_000;
/** The most moves that are kept, the newest. */
const MAX_MOVES = 2_000;

/** Notes moves, in the transaction of their change. */
export function noteMoves(sql: SqlStorage, moves: RunMove[]): void {
  if (moves.length === 0) return;
  const since = Date.now() - KEPT_MS;
  const kept = [...(readMeta(sql, "moves") ?? []), ...moves].filter(({ change }) => change > since);
  writeMeta(sql, "moves", kept.slice(-MAX_MOVES));
}

/** Deletes moves of deleted runs, in the transaction of the deletion. */
export function forgetMoves(sql: SqlStorage, ids: string[]): void {
  const moves = readMeta(sql, "moves") ?? [];
  const gone = new Set(ids);
  const kept = moves.filter(({ id }) => !gone.has(id));
  if (kept.length < moves.length) writeMeta(sql, "moves", kept);
}

/** The runs that have moved from one side of a position to the other after the change `since`. */
export function listMovedAcross(sql: SqlStorage, after: RunPosition, since: number): MovedRun[] {
  const first = new Map<string, number>();
  for (const { id, from, change } of readMeta(sql, "moves") ?? [])
    if (change > since && !first.has(id)) first.set(id, from);
  if (first.size === 0) return [];
  const isRead = (start_time: number, id: string) =>
    start_time < after.start_time || (start_time === after.start_time && id <= after.id);
  const now = sql.exec<{ id: string; start_time: number }>(
    `SELECT id, start_time FROM runs WHERE n IN ${OF_IDS}`,
    JSON.stringify([...first.keys()]),
  );
  return now.toArray().flatMap(({ id, start_time }) => {
    const wasRead = isRead(first.get(id) ?? start_time, id);
    return wasRead === isRead(start_time, id) ? [] : [{ id, wasRead }];
  });
}
