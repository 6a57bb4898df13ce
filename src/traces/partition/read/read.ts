/** Reading runs: queries with filters. */
import type { TraceTier } from "../../projects/table.ts";
import type { LargeField, LargePayload, PartitionIdentity, QueriedRun, TraceTreeRun } from "../../types.ts";
import type { PayloadRow, RunRow } from "../store/tables.ts";
import { type Condition, tierSql } from "./condition.ts";
import { joinPayloads, payloadSql } from "../store/payloads.ts";
import type { QueryRequest, RunSelection } from "../../rpc.ts";
import { narrowByBlock, type BlockSource, selectSource, readBlockCondition } from "../blocks/candidates.ts";
import { selectionCondition } from "./selection.ts";
import { OF_IDS, numbersOfTraces } from "../store/ids.ts";

// A row of the tables as queries answer it.

export type QueriedRow = RunRow & Partial<PayloadRow> & { trace_tier: TraceTier };

/** The run with these of its payloads. Of a payload in R2 it has the preview, and where the payload is. */
export function queriedRun(row: QueriedRow, identity: PartitionIdentity, fields: LargeField[]): QueriedRun {
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
    trace_tier: row.trace_tier,
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
    ...(Object.keys(wanted).length > 0 ? { large: wanted, previews: readPreviews(row, wanted) } : {}),
    thread_id: row.thread_id,
    execution_order: row.execution_order,
    serialized: payload("serialized"),
    usage_details: row.usage_details,
    attachments: row.attachments ? (JSON.parse(row.attachments) as QueriedRun["attachments"]) : [],
  };
}

function readPreviews(row: QueriedRow, large: object): QueriedRun["previews"] {
  return Object.fromEntries(Object.keys(large).map((field) => [field, row[field as LargeField] ?? ""]));
}

/** The runs that are read by the index before the others are read block by block. */
const NEWEST = 20_000;

/** The runs of one answer; `done` when nothing more matches. */
export function queryRuns(
  sql: SqlStorage,
  identity: PartitionIdentity,
  request: QueryRequest,
  newest = NEWEST,
): { runs: QueriedRun[]; done: boolean } {
  const found = collect(sql, identity, request, newest);
  return { runs: found.rows.map((row) => queriedRun(row, identity, request.payloads)), done: found.done };
}

/** The ids whose runs are in this partition. */
export function storedIds(sql: SqlStorage, ids: string[]): string[] {
  const rows = sql.exec<{ id: string }>(`SELECT id FROM runs WHERE n IN ${OF_IDS}`, JSON.stringify(ids));
  return rows.toArray().map(({ id }) => id);
}

/** The ids whose traces have a run in this partition. */
export function storedTraces(sql: SqlStorage, ids: string[]): string[] {
  const rows = sql.exec<{ id: string }>(
    `SELECT j.value AS id FROM json_each(?) j WHERE EXISTS ${numbersOfTraces("SELECT j.value AS id")}`,
    JSON.stringify(ids),
  );
  return rows.toArray().map(({ id }) => id);
}

/** The ids of runs, their traces and their parents, each once, in the order of the table. */
export function listIds(sql: SqlStorage, after: number, limit: number): { ids: string[]; next: number | null } {
  const rows = sql
    .exec<{ n: number; id: string; trace_id: string; parent_run_id: string | null }>(
      "SELECT n, id, trace_id, parent_run_id FROM runs WHERE n > ? ORDER BY n LIMIT ?",
      after,
      limit,
    )
    .toArray();
  const ids = rows.flatMap(({ id, trace_id, parent_run_id }) => [
    id,
    trace_id,
    ...(parent_run_id ? [parent_run_id] : []),
  ]);
  return { ids: [...new Set(ids)], next: rows.length < limit ? null : (rows.at(-1)?.n ?? null) };
}

interface Rows {
  rows: QueriedRow[];
  bytes: number;
  /** Whether nothing more matches. */
  done: boolean;
}

/**
 * The rows of one answer. The first runs of the order are read by the index, where frequent matches end the reading early. When
 * matches are rare, the others are read in the order of the table, which takes half the time of a run.
 */
function collect(sql: SqlStorage, identity: PartitionIdentity, given: QueryRequest, newest: number): Rows {
  const request = { ...given, ...windowBehind(given) };
  const source = selectSource(sql, readBlockCondition(request));
  const keys = selectKeys(sql, identity, request, source);
  // To look for the edge reads as many rows of the index as the newest runs are: not for a run that is read by its id.
  const edge = source.isSmall || !isReadByStart(sql, keys) ? undefined : startAt(sql, request, newest);
  if (edge === undefined) return readRows(sql, identity, request, keys);
  const [near, far] =
    request.order === "desc"
      ? [{ startTime: edge }, { endTime: edge }]
      : [{ endTime: edge + 1 }, { startTime: edge + 1 }];
  const first = readRows(sql, identity, request, selectKeys(sql, identity, { ...request, ...near }, source));
  if (!first.done) return first;
  const rest = {
    ...request,
    ...far,
    limit: request.limit - first.rows.length,
    maxBytes: request.maxBytes - first.bytes,
  };
  const blocks = narrowByBlock(sql, source);
  const half = blocks.runs / 2;
  const expected = (newest / first.rows.length) * rest.limit;
  const isLong = expected > half && startAt(sql, rest, half) !== undefined;
  const other = readRows(sql, identity, rest, selectKeys(sql, identity, rest, isLong ? blocks.source : source));
  return { ...other, rows: [...first.rows, ...other.rows] };
}

/** Whether the planner reads the runs of the window one by one. Conditions on ids, traces and feedback have better indexes. */
export function isReadByStart(sql: SqlStorage, { text, values }: Statement): boolean {
  const steps = sql.exec<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`, ...values).toArray();
  return steps.some(({ detail }) =>
    /^(?:SCAN r$|(?:SCAN|SEARCH) r USING (?:COVERING )?INDEX runs_start\b)/.test(detail),
  );
}

/** The start of the run of the window that `offset` others precede. */
function startAt(sql: SqlStorage, { order, startTime, endTime }: QueryRequest, offset: number): number | undefined {
  const rows = sql.exec<{ start_time: number }>(
    `SELECT start_time FROM runs WHERE start_time >= ? AND start_time < ? ORDER BY start_time ${order} LIMIT 1 OFFSET ?`,
    startTime ?? 0,
    endTime ?? Number.MAX_SAFE_INTEGER,
    offset,
  );
  return rows.toArray()[0]?.start_time;
}

export interface Statement {
  text: string;
  values: Condition["values"];
}

/** The numbers of the runs, in order. One more than the answer may have says whether there are more. */
function selectKeys(
  sql: SqlStorage,
  identity: PartitionIdentity,
  request: QueryRequest,
  source: BlockSource,
): Statement {
  const { order, after, limit } = request;
  const condition = selectionCondition(sql, identity, request);
  const behind = after ? `AND (r.start_time, r.id) ${order === "asc" ? ">" : "<"} (?, ?)` : "";
  return {
    text: `SELECT r.n FROM ${source.from} WHERE ${source.sql} AND ${condition.sql} ${behind}
      ORDER BY r.start_time ${order}, r.id ${order} LIMIT ?`,
    values: [...source.values, ...condition.values, ...(after ? [after.start_time, after.id] : []), limit + 1],
  };
}

/** The keys come first and the join follows their order, so that a filter or a sort touches no payloads. Rows are read lazily. */
function readRows(
  sql: SqlStorage,
  { traceTier }: PartitionIdentity,
  { limit, maxBytes, payloads }: QueryRequest,
  keys: Statement,
): Rows {
  const heavy = payloads.filter((field) => field !== "error").map((field) => `${payloadSql(field)} AS ${field}`);
  const found = sql.exec(
    `SELECT ${["r.*", "p.large", "p.attachments", `${tierSql("r", "?")} AS trace_tier`, ...heavy].join(", ")}
     FROM (${keys.text}) k CROSS JOIN runs r ON r.n = k.n ${joinPayloads()}`,
    traceTier,
    ...keys.values,
  ) as unknown as Iterable<QueriedRow>;
  const read: Rows = { rows: [], bytes: 0, done: true };
  for (const row of found) {
    if (read.rows.length === limit || read.bytes >= maxBytes) return { ...read, done: false };
    read.rows.push(row);
    read.bytes += weighRow(row, payloads);
  }
  return read;
}

/** The approximate memory of what a query gives of a run. A payload in R2 that must be loaded counts, too. */
function weighRow(row: QueriedRow, payloads: LargeField[]): number {
  const large = row.large ? (JSON.parse(row.large) as Partial<Record<LargeField, LargePayload>>) : {};
  const heavy = payloads.map((field) => (row[field]?.length ?? 0) + (large[field]?.bytes ?? 0));
  const light = [row.dotted_order, row.metadata, row.tags, row.feedback_stats, row.attachments];
  return light.reduce((sum, text) => sum + (text?.length ?? 0), 400) + heavy.reduce((a, b) => a + b, 0);
}

/** The window cut at the position: SQLite would otherwise read the index from the window's begin at every page. */
function windowBehind({ order, after, startTime, endTime }: QueryRequest): Pick<RunSelection, "startTime" | "endTime"> {
  if (!after) return { startTime, endTime };
  return order === "asc"
    ? { startTime: Math.max(startTime ?? after.start_time, after.start_time), endTime }
    : { startTime, endTime: Math.min(endTime ?? after.start_time + 1, after.start_time + 1) };
}

// The runs of one trace without what they were given and gave.

type TreeRow = Omit<TraceTreeRun, "session_id" | "parent_run_ids"> & { parent_run_ids: string };

/** The first runs, each after its parent, siblings by their begin. Reads `runs` only: the other columns and the payloads take most of the time. */
export function traceTree(
  sql: SqlStorage,
  { projectId }: PartitionIdentity,
  traceId: string,
  limit: number,
): TraceTreeRun[] {
  const rows = sql.exec(
    `SELECT id, trace_id, parent_run_ids, dotted_order, name, run_type, start_time, end_time, status,
       first_token_time, total_tokens, total_cost
     FROM runs WHERE n IN ${numbersOfTraces("SELECT ? AS id")} ORDER BY dotted_order LIMIT ?`,
    traceId,
    limit,
  ) as unknown as Iterable<TreeRow>;
  return Array.from(rows, (row) => ({
    ...row,
    parent_run_ids: JSON.parse(row.parent_run_ids) as string[],
    session_id: projectId,
  }));
}
