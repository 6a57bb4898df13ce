/**
 * How a query with a filter reads the runs of its window. The index of start times ends a query early when many runs pass; but
 * when few pass it visits every run out of the table's order, which takes two to three times as long as reading the table.
 */
import type { QueryRequest } from "../rpc.ts";

/** Runs at the beginning of the order that are read by the index: enough for a filter that one run in 200 passes. */
const FIRST_RUNS = 20_000;
/** The table is read in its own order when the window has at least this part of the partition's time. */
const WIDE = 1 / 3;

/** A half-open window of start_time, microseconds. */
export type Window = Pick<QueryRequest, "startTime" | "endTime">;

/** The window of the first runs in the order; undefined when the index should be used for all of them. */
export function firstSpan(
  sql: SqlStorage,
  { order, filter, isRoot, hasError }: QueryRequest,
  window: Window,
): Window | undefined {
  // The indexes of roots and of failed runs are in the order of start times, too.
  if (!filter || isRoot !== undefined || hasError !== undefined) return undefined;
  const { least, greatest } = sql
    .exec<{ least: number | null; greatest: number | null }>(
      "SELECT (SELECT min(start_time) FROM runs) AS least, (SELECT max(start_time) FROM runs) AS greatest",
    )
    .one();
  if (least === null || greatest === null) return undefined;
  const from = Math.max(window.startTime ?? least, least);
  const to = Math.min(window.endTime ?? greatest + 1, greatest + 1);
  if (to - from < (greatest - least) * WIDE) return undefined;
  const [row] = sql
    .exec(
      `SELECT start_time FROM runs WHERE start_time >= ? AND start_time < ? ORDER BY start_time ${order} LIMIT 1 OFFSET ?`,
      from,
      to,
      FIRST_RUNS,
    )
    .raw();
  if (!row) return undefined;
  const edge = row[0] as number;
  return order === "asc" ? { startTime: from, endTime: edge + 1 } : { startTime: edge, endTime: to };
}
