/** Reading runs: queries with filters. */
import { compileFilter, type Condition, type Constants } from "../filter/sql.ts";
import { parseFilter } from "../filter/filter.ts";
import { joinPayloads, payloadOf } from "../packs.ts";
import type { QueryRequest, RunSelection } from "../rpc.ts";
import type { LargeField, LargePayload, PartitionIdentity, QueriedRun } from "../types.ts";
import { sourceOf } from "./blocks/candidates.ts";
import { wantedBy, wantedOf } from "./blocks/wanted.ts";
import type { PayloadRow, RunRow } from "./tables.ts";

type Row = RunRow & Partial<PayloadRow>;

/** The runs of one answer; `done` when nothing more matches. */
export function queryRuns(
  sql: SqlStorage,
  identity: PartitionIdentity,
  request: QueryRequest,
): { runs: QueriedRun[]; done: boolean } {
  const found = collect(sql, identity, request);
  return { runs: found.rows.map((row) => queriedRun(row, identity, request.payloads)), done: found.done };
}

/** The ids whose runs are in this partition. */
export function storedIds(sql: SqlStorage, ids: string[]): string[] {
  const rows = sql.exec<{ id: string }>(
    "SELECT id FROM runs WHERE id IN (SELECT value FROM json_each(?))",
    JSON.stringify(ids),
  );
  return rows.toArray().map(({ id }) => id);
}

const AMONG = "r.trace_id IN (SELECT value FROM json_each(?))";

/** The condition of a selection on `runs r`. */
export function selectionCondition(sql: SqlStorage, identity: PartitionIdentity, selection: RunSelection): Condition {
  const constants: Constants = { session_id: identity.projectId, trace_tier: identity.traceTier };
  const tests: string[] = [];
  const values: Condition["values"] = [];
  const add = (test: string, ...bound: Condition["values"]) => {
    tests.push(test);
    values.push(...bound);
  };
  const { ids, traceId, parentRunId, runType, referenceExampleIds, executionOrder, isRoot, hasError, threadId } =
    selection;
  if (ids) add("r.id IN (SELECT value FROM json_each(?))", JSON.stringify(ids));
  if (traceId !== undefined) add("r.trace_id = ?", traceId);
  if (parentRunId !== undefined) add("r.parent_run_id = ?", parentRunId);
  if (runType !== undefined) add("r.run_type = ?", runType);
  if (referenceExampleIds)
    add("r.reference_example_id IN (SELECT value FROM json_each(?))", JSON.stringify(referenceExampleIds));
  if (executionOrder !== undefined) add("r.execution_order = ?", executionOrder);
  if (isRoot !== undefined) add(isRoot ? "r.is_root = 1" : "r.is_root = 0");
  if (hasError !== undefined) add(hasError ? "r.error IS NOT NULL" : "r.error IS NULL");
  if (threadId !== undefined) add("r.thread_id = ?", threadId);
  if (selection.startTime !== undefined) add("r.start_time >= ?", selection.startTime);
  if (selection.endTime !== undefined) add("r.start_time < ?", selection.endTime);
  if (selection.filter) {
    const own = compileFilter(parseFilter(selection.filter), "r", constants);
    add(own.sql, ...own.values);
  }
  if (selection.traceFilter) {
    const filter = parseFilter(selection.traceFilter);
    const root = compileFilter(filter, "root", constants);
    const source = sourceOf(sql, wantedBy(filter), "root");
    const where = `root.is_root = 1 AND ${source.sql} AND ${root.sql}`;
    // Of many roots, each run looks for its own: most lists end long before the last run.
    const passes = source.isSmall
      ? `r.trace_id IN (SELECT root.trace_id FROM ${source.from} WHERE ${where})`
      : `EXISTS (SELECT 1 FROM ${source.from} WHERE root.trace_id = r.trace_id AND ${where})`;
    add(`(${passes} OR ${AMONG})`, ...source.values, ...root.values, JSON.stringify(selection.traceElsewhere ?? []));
  }
  if (selection.treeFilter) {
    const filter = parseFilter(selection.treeFilter);
    const any = compileFilter(filter, "tree", constants);
    const source = sourceOf(sql, wantedBy(filter), "tree");
    const passes = `r.trace_id IN (SELECT tree.trace_id FROM ${source.from} WHERE ${source.sql} AND ${any.sql})`;
    add(`(${passes} OR ${AMONG})`, ...source.values, ...any.values, JSON.stringify(selection.treeElsewhere ?? []));
  }
  return { sql: tests.length === 0 ? "1" : tests.join(" AND "), values };
}

/**
 * The rows of one answer. The keys come first and the join follows their order, so that a filter or a sort touches no
 * payloads. Rows are read lazily.
 */
function collect(sql: SqlStorage, identity: PartitionIdentity, request: QueryRequest): { rows: Row[]; done: boolean } {
  const { order, after, limit, maxBytes } = request;
  const condition = selectionCondition(sql, identity, { ...request, ...windowBehind(request) });
  const source = sourceOf(sql, wantedOf(request));
  const heavy = request.payloads.filter((field) => field !== "error");
  const columns = ["r.*", "p.large", "p.attachments", ...heavy.map((field) => `${payloadOf(field)} AS ${field}`)].join(
    ", ",
  );
  const found = sql.exec(
    `SELECT ${columns} FROM (
       SELECT r.n FROM ${source.from} WHERE ${source.sql} AND ${condition.sql}
         ${after ? `AND (r.start_time, r.id) ${order === "asc" ? ">" : "<"} (?, ?)` : ""}
       ORDER BY r.start_time ${order}, r.id ${order} LIMIT ?
     ) k CROSS JOIN runs r ON r.n = k.n ${joinPayloads()}`,
    ...source.values,
    ...condition.values,
    ...(after ? [after.start_time, after.id] : []),
    limit + 1,
  ) as unknown as Iterable<Row>;
  const rows: Row[] = [];
  let bytes = 0;
  for (const row of found) {
    if (rows.length === limit || bytes >= maxBytes) return { rows, done: false };
    rows.push(row);
    bytes += row.bytes + (row.feedback_stats?.length ?? 0);
  }
  return { rows, done: true };
}

/** The window cut at the position: SQLite would otherwise read the index from the window's begin at every page. */
function windowBehind({ order, after, startTime, endTime }: QueryRequest): Pick<RunSelection, "startTime" | "endTime"> {
  if (!after) return { startTime, endTime };
  return order === "asc"
    ? { startTime: Math.max(startTime ?? after.start_time, after.start_time), endTime }
    : { startTime, endTime: Math.min(endTime ?? after.start_time + 1, after.start_time + 1) };
}

function queriedRun(row: Row, identity: PartitionIdentity, fields: LargeField[]): QueriedRun {
  const large = row.large ? (JSON.parse(row.large) as Partial<Record<LargeField, LargePayload>>) : {};
  const wanted = Object.fromEntries(Object.entries(large).filter(([field]) => fields.includes(field as LargeField)));
  const payload = (field: LargeField) => (large[field] || !fields.includes(field) ? null : (row[field] ?? null));
  return {
    id: row.id,
    tenant_id: identity.workspaceId,
    session_id: identity.projectId,
    shard: identity.shard,
    trace_id: row.trace_id,
    parent_run_id: row.parent_run_id,
    parent_run_ids: JSON.parse(row.parent_run_ids) as string[],
    reference_example_id: row.reference_example_id,
    name: row.name,
    run_type: row.run_type,
    start_time: row.start_time,
    end_time: row.end_time,
    status: row.status,
    is_root: row.is_root === 1,
    dotted_order: row.dotted_order,
    trace_tier: identity.traceTier,
    inputs: payload("inputs"),
    outputs: payload("outputs"),
    error: payload("error"),
    extra: payload("extra"),
    events: payload("events"),
    tags: JSON.parse(row.tags) as string[],
    feedback_stats: row.feedback_stats,
    total_tokens: row.total_tokens,
    prompt_tokens: row.prompt_tokens,
    completion_tokens: row.completion_tokens,
    total_cost: row.total_cost,
    prompt_cost: row.prompt_cost,
    completion_cost: row.completion_cost,
    first_token_time: row.first_token_time,
    ...(Object.keys(wanted).length > 0 ? { large: wanted, previews: previewsOf(row, wanted) } : {}),
    thread_id: row.thread_id,
    execution_order: row.execution_order,
    serialized: payload("serialized"),
    usage_details: row.usage_details,
    attachments: row.attachments ? (JSON.parse(row.attachments) as QueriedRun["attachments"]) : [],
  };
}

function previewsOf(row: Row, large: object): QueriedRun["previews"] {
  return Object.fromEntries(Object.keys(large).map((field) => [field, row[field as LargeField] ?? ""]));
}
