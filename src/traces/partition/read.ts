/** Reading runs: pages for exports, queries with filters. */
import { compileFilter, type Condition, type Constants } from "../filter/sql.ts";
import { parseFilter } from "../filter/filter.ts";
import {
  type LargePayload,
  PAYLOAD_FIELDS,
  type PageRequest,
  type PartitionIdentity,
  type PayloadField,
  type QueriedRun,
  type QueryRequest,
  type RunPage,
  type RunSelection,
  type StoredRun,
} from "../rpc.ts";
import { feedbackOf } from "./feedback.ts";
import type { PayloadRow, RunRow } from "./tables.ts";

type Row = RunRow & Partial<PayloadRow>;

/** Rows are fetched in steps, so that no more than a step is read past the page's end. */
const STEP = 200;

/** One page in the order (start_time, id). */
export function readPage(sql: SqlStorage, identity: PartitionIdentity, request: PageRequest): RunPage {
  const { startTime, endTime, after, limit, maxBytes } = request;
  const fields = request.payloads ?? [...PAYLOAD_FIELDS];
  const filter = request.filter ?? undefined;
  const found = collect(sql, identity, {
    startTime,
    endTime,
    filter,
    order: "asc",
    after,
    limit,
    maxBytes,
    payloads: fields,
  });
  const feedbacks = request.feedbacks
    ? feedbackOf(
        sql,
        found.rows.map(({ id }) => id),
      )
    : undefined;
  const runs = found.rows.map((row) => {
    const run = storedRun(row, identity, fields);
    if (feedbacks) run.feedbacks = feedbacks.has(row.id) ? JSON.stringify(feedbacks.get(row.id)) : null;
    return run;
  });
  const last = runs.at(-1);
  return { runs, next: last ? { start_time: last.start_time, id: last.id } : null, done: found.done };
}

export function queryRuns(
  sql: SqlStorage,
  identity: PartitionIdentity,
  request: QueryRequest,
): { runs: QueriedRun[]; done: boolean } {
  const found = collect(sql, identity, request);
  return { runs: found.rows.map((row) => queriedRun(row, identity, request.payloads)), done: found.done };
}

/** The condition of a selection on `runs r`. */
export function selectionCondition(identity: PartitionIdentity, selection: RunSelection): Condition {
  const constants: Constants = { session_id: identity.projectId, trace_tier: identity.traceTier };
  const tests: string[] = [];
  const values: Condition["values"] = [];
  const add = (sql: string, ...bound: Condition["values"]) => {
    tests.push(sql);
    values.push(...bound);
  };
  const { ids, traceId, parentRunId, runType, referenceExampleIds, executionOrder, isRoot, hasError, threadId } =
    selection;
  if (ids) add("r.id IN (SELECT value FROM json_each(?))", JSON.stringify(ids));
  if (traceId !== undefined) add("r.trace_id = ?", traceId);
  if (parentRunId !== undefined) {
    // By the parent's trace, which has an index; the parent may lie in another day's partition.
    add("r.parent_run_id = ?", parentRunId);
  }
  if (runType !== undefined) add("r.run_type = ?", runType);
  if (referenceExampleIds)
    add("r.reference_example_id IN (SELECT value FROM json_each(?))", JSON.stringify(referenceExampleIds));
  if (executionOrder !== undefined) add("r.execution_order = ?", executionOrder);
  if (isRoot !== undefined) add(isRoot ? "r.is_root = 1" : "r.is_root = 0");
  if (hasError !== undefined) add(hasError ? "r.error IS NOT NULL" : "r.error IS NULL");
  if (threadId !== undefined) add("r.thread_id = ?", threadId);
  if (selection.startTime !== undefined) add("r.start_time >= ?", selection.startTime);
  if (selection.endTime !== undefined) add("r.start_time < ?", selection.endTime);
  if (selection.filter) addFilter(compileFilter(parseFilter(selection.filter), "r", constants), (sql) => sql);
  if (selection.traceFilter) {
    const root = compileFilter(parseFilter(selection.traceFilter), "root", constants);
    addFilter(
      root,
      (sql) => `EXISTS (SELECT 1 FROM runs root WHERE root.trace_id = r.trace_id AND root.is_root = 1 AND ${sql})`,
    );
  }
  if (selection.treeFilter) {
    const any = compileFilter(parseFilter(selection.treeFilter), "tree", constants);
    addFilter(any, (sql) => `r.trace_id IN (SELECT tree.trace_id FROM runs tree WHERE ${sql})`);
  }
  return { sql: tests.length === 0 ? "1" : tests.join(" AND "), values };

  function addFilter(condition: Condition, wrap: (sql: string) => string): void {
    add(wrap(condition.sql), ...condition.values);
  }
}

type Wanted = RunSelection & Pick<QueryRequest, "order" | "after" | "limit" | "maxBytes" | "payloads">;

function collect(sql: SqlStorage, identity: PartitionIdentity, request: Wanted): { rows: Row[]; done: boolean } {
  const condition = selectionCondition(identity, request);
  const rows: Row[] = [];
  let bytes = 0;
  let after = request.after;
  while (rows.length < request.limit) {
    const step = Math.min(STEP, request.limit - rows.length);
    const ids = keysAfter(sql, condition, request.order, after, step);
    for (const { n } of ids) {
      const row = loadRow(sql, n, request.payloads);
      rows.push(row);
      bytes += row.bytes;
      if (bytes >= request.maxBytes) return { rows, done: false };
    }
    const last = ids.at(-1);
    if (ids.length < step || !last) return { rows, done: true };
    after = last;
  }
  return { rows, done: false };
}

interface Key extends Record<string, SqlStorageValue> {
  n: number;
  start_time: number;
  id: string;
}

function keysAfter(
  sql: SqlStorage,
  condition: Condition,
  order: "asc" | "desc",
  after: QueryRequest["after"],
  limit: number,
): Key[] {
  const behind = after ? `AND (r.start_time, r.id) ${order === "asc" ? ">" : "<"} (?, ?)` : "";
  const position = after ? [after.start_time, after.id] : [];
  return sql
    .exec<Key>(
      `SELECT r.n, r.start_time, r.id FROM runs r WHERE ${condition.sql} ${behind}
       ORDER BY r.start_time ${order}, r.id ${order} LIMIT ?`,
      ...condition.values,
      ...position,
      limit,
    )
    .toArray();
}

function loadRow(sql: SqlStorage, n: number, fields: PayloadField[]): Row {
  const heavy = fields.filter((field) => field !== "error");
  const columns = ["r.*", "p.large", "p.serialized", "p.attachments", ...heavy.map((field) => `p.${field}`)].join(", ");
  return sql
    .exec(`SELECT ${columns} FROM runs r JOIN payloads p ON p.n = r.n WHERE r.n = ?`, n)
    .one() as unknown as Row;
}

function storedRun(row: Row, identity: PartitionIdentity, fields: PayloadField[]): StoredRun {
  const large = row.large ? (JSON.parse(row.large) as Partial<Record<PayloadField, LargePayload>>) : {};
  const wanted = Object.fromEntries(Object.entries(large).filter(([field]) => fields.includes(field as PayloadField)));
  const payload = (field: PayloadField) => (large[field] || !fields.includes(field) ? null : (row[field] ?? null));
  return {
    id: row.id,
    tenant_id: identity.workspaceId,
    session_id: identity.projectId,
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
    ...(Object.keys(wanted).length > 0 ? { large: wanted } : {}),
  };
}

function queriedRun(row: Row, identity: PartitionIdentity, fields: PayloadField[]): QueriedRun {
  return {
    ...storedRun(row, identity, fields),
    thread_id: row.thread_id,
    execution_order: row.execution_order,
    serialized: row.serialized ?? null,
    usage_details: row.usage_details,
    attachments: row.attachments ? (JSON.parse(row.attachments) as QueriedRun["attachments"]) : [],
  };
}
