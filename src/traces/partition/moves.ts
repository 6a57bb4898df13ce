/** Runs whose start_time has changed. An export reads in the order of start_time, and must not read such a run twice. */
import type { RunPosition } from "../types.ts";
import type { MovedRun } from "../columns.ts";
import { type Move, readMeta, writeMeta } from "./store/meta.ts";
import { OF_IDS } from "./store/ids.ts";

/** As long as an export lasts. Numbers of changes are milliseconds (changes.ts). */
const KEPT_MS = 72 * 3_600_000;
/** The most moves that are kept, the newest. */
const MOST = 2_000;

/** Notes moves, in the transaction of their change. */
export function noteMoves(sql: SqlStorage, moves: Move[]): void {
  if (moves.length === 0) return;
  const since = Date.now() - KEPT_MS;
  const kept = [...(readMeta(sql, "moves") ?? []), ...moves].filter(({ change }) => change > since);
  writeMeta(sql, "moves", kept.slice(-MOST));
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
