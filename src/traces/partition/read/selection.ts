/** What a selection means in SQL. */
import { compileFilter, type Condition, type Constants } from "./condition.ts";
import { parseFilter } from "../../filter/filter.ts";
import type { RunSelection } from "../../rpc.ts";
import type { PartitionIdentity } from "../../types.ts";
import { selectSource, blockConditionOf } from "../blocks/candidates.ts";
import { numbersOfTraces, OF_TRACES, OF_IDS } from "../store/ids.ts";
import { CROSSING } from "../store/tables.ts";

const AMONG = `r.n IN ${OF_TRACES}`;

export function selectionCondition(sql: SqlStorage, identity: PartitionIdentity, selection: RunSelection): Condition {
  const constants: Constants = { session_id: identity.projectId, trace_tier: identity.traceTier };
  const tests: string[] = [];
  const values: Condition["values"] = [];
  const add = (test: string, ...bound: Condition["values"]) => {
    tests.push(test);
    values.push(...bound);
  };
  const { ids, traceId, parentRunId, runType, referenceExampleIds, executionOrder, isRoot, hasError } = selection;
  const { threadId, hasThread } = selection;
  if (ids) add(`r.n IN ${OF_IDS}`, JSON.stringify(ids));
  if (traceId !== undefined) add(`r.n IN ${numbersOfTraces("SELECT ? AS id")}`, traceId);
  if (parentRunId !== undefined) add("r.parent_run_id = ?", parentRunId);
  if (runType !== undefined) add("r.run_type = ?", runType);
  if (referenceExampleIds)
    add("r.reference_example_id IN (SELECT value FROM json_each(?))", JSON.stringify(referenceExampleIds));
  if (executionOrder !== undefined) add("r.execution_order = ?", executionOrder);
  if (isRoot !== undefined) add(isRoot ? "r.is_root = 1" : "r.is_root = 0");
  if (hasError !== undefined) add(hasError ? "r.error IS NOT NULL" : "r.error IS NULL");
  if (threadId !== undefined) add("r.thread_id = ?", threadId);
  if (hasThread) add("r.thread_id IS NOT NULL");
  if (selection.startTime !== undefined) add("r.start_time >= ?", selection.startTime);
  if (selection.endTime !== undefined) add("r.start_time < ?", selection.endTime);
  if (selection.filter) {
    const own = compileFilter(parseFilter(selection.filter), "r", constants);
    add(own.sql, ...own.values);
  }
  if (selection.traceFilter) {
    const filter = parseFilter(selection.traceFilter);
    const root = compileFilter(filter, "root", constants);
    const source = selectSource(sql, blockConditionOf(filter), "root");
    const where = `root.is_root = 1 AND ${source.sql} AND ${root.sql}`;
    // Of many roots, each run looks for its own: most lists end long before the last run.
    const passes = source.isSmall
      ? `r.n IN ${numbersOfTraces(`SELECT root.trace_id AS id FROM ${source.from} WHERE ${where}`)}`
      : `EXISTS (SELECT 1 FROM ${source.from} WHERE root.n IN ${numbersOfTraces("SELECT r.trace_id AS id")} AND ${where})`;
    add(`(${passes} OR ${AMONG})`, ...source.values, ...root.values, JSON.stringify(selection.traceElsewhere ?? []));
  }
  if (selection.treeFilter) {
    const filter = parseFilter(selection.treeFilter);
    const any = compileFilter(filter, "tree", constants);
    const source = selectSource(sql, blockConditionOf(filter), "tree");
    const traces = `SELECT DISTINCT tree.trace_id AS id FROM ${source.from} WHERE ${source.sql} AND ${any.sql}`;
    const passes = source.isSmall ? `r.n IN ${numbersOfTraces(traces)}` : `r.trace_id IN (${traces})`;
    add(`(${passes} OR ${AMONG})`, ...source.values, ...any.values, JSON.stringify(selection.treeElsewhere ?? []));
  }
  return { sql: tests.length === 0 ? "1" : tests.join(" AND "), values };
}

// Traces that span midnight: some of their runs are in the partition of another day.

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
