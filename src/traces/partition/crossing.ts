/** Traces that span midnight: some of their runs are in the partition of another day. */
import { parseFilter } from "../filter/filter.ts";
import { compileFilter } from "./read/condition.ts";
import type { PartitionIdentity } from "../types.ts";
import { OF_TRACES } from "../run-groups.ts";
import { CROSSING } from "./store/tables.ts";

/** The most such traces per day that are tracked. */
const MOST = 20_000;

/** The traces with runs here whose root began on an earlier day, according to dotted_order. */
export function crossingTraces(sql: SqlStorage): string[] {
  const rows = sql.exec<{ trace_id: string }>(`SELECT DISTINCT trace_id FROM runs WHERE ${CROSSING} LIMIT ?`, MOST);
  return rows.toArray().map(({ trace_id }) => trace_id);
}

const EARLIER_AT_ONCE = 10_000;

/** Those that are not kept here, after a trace, with the day of their root. */
export function crossingUnkept(sql: SqlStorage, after: string): { id: string; day: string }[] {
  const rows = sql.exec<{ id: string; day: string }>(
    `SELECT trace_id AS id, substr(min(dotted_order), 1, 4) || '-' || substr(min(dotted_order), 5, 2) || '-' ||
       substr(min(dotted_order), 7, 2) AS day
     FROM runs WHERE ${CROSSING} AND trace_id > ? AND trace_id NOT IN (SELECT trace_id FROM kept)
     GROUP BY trace_id ORDER BY trace_id LIMIT ${EARLIER_AT_ONCE}`,
    after,
  );
  return rows.toArray();
}

/** Which of these traces have a run here that passes the filter; `root`: whose root does. */
export function tracesPassing(
  sql: SqlStorage,
  identity: PartitionIdentity,
  traces: string[],
  { filter, root }: { filter: string; root: boolean },
): string[] {
  const constants = { session_id: identity.projectId, trace_tier: identity.traceTier };
  const condition = compileFilter(parseFilter(filter), "r", constants);
  const rows = sql.exec<{ trace_id: string }>(
    `SELECT DISTINCT r.trace_id FROM runs r
     WHERE r.n IN ${OF_TRACES} ${root ? "AND r.is_root = 1" : ""} AND ${condition.sql}`,
    JSON.stringify(traces),
    ...condition.values,
  );
  return rows.toArray().map(({ trace_id }) => trace_id);
}
