/** What a selection means in SQL. */
import { compileFilter, type Condition, type Constants } from "./condition.ts";
import { parseFilter } from "../../filter/filter.ts";
import type { RunSelection } from "../../rpc.ts";
import type { PartitionIdentity } from "../../types.ts";
import { selectSource } from "../blocks/candidates.ts";
import { wantFilter } from "../blocks/wanted.ts";
import { numbersOfTraces, OF_TRACES } from "../../run-groups.ts";
import { OF_IDS } from "../store/ids.ts";

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
    const source = selectSource(sql, wantFilter(filter), "root");
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
    const source = selectSource(sql, wantFilter(filter), "tree");
    const traces = `SELECT DISTINCT tree.trace_id AS id FROM ${source.from} WHERE ${source.sql} AND ${any.sql}`;
    const passes = source.isSmall ? `r.n IN ${numbersOfTraces(traces)}` : `r.trace_id IN (${traces})`;
    add(`(${passes} OR ${AMONG})`, ...source.values, ...any.values, JSON.stringify(selection.treeElsewhere ?? []));
  }
  return { sql: tests.length === 0 ? "1" : tests.join(" AND "), values };
}
