/** Feedback on the partition's runs, and the statistics of it that each run carries. */
import type { FeedbackSum, StoredFeedback } from "../types.ts";
import { clipSql } from "../text.ts";
import { addFeedback, type LightFeedback, MAX_LABEL, showSum } from "../review/feedback/sums.ts";
import { nextChange, numberRuns } from "./store/changes.ts";
import { selectDeleted } from "./write/delete.ts";
import { OF_IDS } from "./store/ids.ts";

interface CommentedFeedback extends LightFeedback {
  run_id: string;
  comment: string | null;
}

const MAX_COMMENTS = 10;
const MAX_COMMENT = 1_000;
const MAX_KEYS = 200;
/** The most bytes of `runs.feedback_stats`. */
const STATS_BYTES = 128 * 1024;
/** The most bytes of one run's raw feedback in an export. */
const RAW_BYTES = 4 * 1024 * 1024;

/** The columns of `LightFeedback`. `rest` holds the complete feedback and is not loaded. */
export const LIGHT = `key, score, CASE WHEN json_type(value) = 'text' THEN ${clipSql("value_text", MAX_LABEL)} END AS label,
  rest ->> '$.error' AS error`;

/**
 * Inserts or replaces; gives what is stored. The first creation time stays. With `asRead` it replaces only what was
 * changed last at that time, and else gives undefined.
 */
export function putFeedback(sql: SqlStorage, feedback: StoredFeedback, asRead?: string): StoredFeedback | undefined {
  const [before] = getFeedback(sql, [feedback.id]);
  if (asRead !== undefined && before?.modified_at !== asRead) return undefined;
  const stored = before ? { ...feedback, created_at: before.created_at } : feedback;
  forgetUnlisted(sql, [stored.id]);
  const value = stored.value ?? null;
  sql.exec(
    `INSERT OR REPLACE INTO feedback (id, run_id, trace_id, key, score, value, value_text, source_type, rest, created_at, modified_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    stored.id,
    stored.run_id,
    stored.trace_id,
    stored.key,
    stored.score === null ? null : Number(stored.score),
    value === null ? null : JSON.stringify(value),
    value === null ? null : typeof value === "string" ? value : JSON.stringify(value),
    stored.feedback_source.type,
    JSON.stringify(stored),
    Date.parse(stored.created_at),
    Date.parse(stored.modified_at),
  );
  const runs = [stored.run_id, before?.run_id].filter((id) => typeof id === "string");
  refreshStats(sql, [...new Set(runs)]);
  numberRuns(sql, nextChange(sql), "id", runs);
  return stored;
}

/** Stores feedback moved from another shard, unless a newer version is already stored. */
export function takeFeedback(sql: SqlStorage, feedback: StoredFeedback): boolean {
  if (isOfDeleted(sql, feedback)) return false;
  const [before] = getFeedback(sql, [feedback.id]);
  if (!before || before.modified_at < feedback.modified_at) putFeedback(sql, feedback);
  return true;
}

/** Removes feedback that another shard has taken, unless it has changed since. Its place in D1 stays: it names that shard. */
export function handOver(sql: SqlStorage, id: string, modifiedAt: string): void {
  sql.exec("DELETE FROM feedback WHERE id = ? AND rest ->> '$.modified_at' = ?", id, modifiedAt);
}

export function getFeedback(sql: SqlStorage, ids: string[]): StoredFeedback[] {
  return sql
    .exec<{ rest: string }>(
      "SELECT rest FROM feedback WHERE id IN (SELECT value FROM json_each(?))",
      JSON.stringify(ids),
    )
    .toArray()
    .map(({ rest }) => JSON.parse(rest) as StoredFeedback);
}

/** Whether the run or the trace of this feedback was deleted. */
export function isOfDeleted(sql: SqlStorage, { run_id, trace_id }: StoredFeedback): boolean {
  return (
    selectDeleted(
      sql,
      [run_id, trace_id].filter((id) => id !== null),
    ).size > 0
  );
}

/** Ids of deleted feedback that can be deleted in D1 at once: a parameter of a statement is at most 2 MB. */
const UNLISTED_AT_ONCE = 10_000;

/** The ids of deleted feedback whose places are still to be deleted in D1. */
export function unlistedFeedback(sql: SqlStorage): string[] {
  const rows = sql.exec<{ id: string }>(`SELECT id FROM unlisted LIMIT ${UNLISTED_AT_ONCE}`);
  return rows.toArray().map(({ id }) => id);
}

/** Removes ids from the list, because their places are deleted or were made again. */
export function forgetUnlisted(sql: SqlStorage, ids: string[]): void {
  sql.exec("DELETE FROM unlisted WHERE id IN (SELECT value FROM json_each(?))", JSON.stringify(ids));
}

export function deleteFeedback(sql: SqlStorage, id: string): boolean {
  const [gone] = sql
    .exec<{ run_id: string | null }>("DELETE FROM feedback WHERE id = ? RETURNING run_id", id)
    .toArray();
  if (gone) sql.exec("INSERT OR IGNORE INTO unlisted (id) VALUES (?)", id);
  if (gone?.run_id) {
    refreshStats(sql, [gone.run_id]);
    numberRuns(sql, nextChange(sql), "id", [gone.run_id]);
  }
  return gone !== undefined;
}

/** The raw feedback of a run as a JSON array, oldest first, up to `RAW_BYTES`. Null when it has none. */
export function rawFeedback(sql: SqlStorage, runId: string): string | null {
  const rows = sql.exec<{ rest: string }>(
    `SELECT rest FROM (
       SELECT rest, created_at, id, sum(length(CAST(rest AS BLOB)) + 1) OVER (ORDER BY created_at, id) AS through
       FROM feedback WHERE run_id = ?
     ) WHERE through <= ${RAW_BYTES} ORDER BY created_at, id`,
    runId,
  );
  const texts = [...rows].map(({ rest }) => rest);
  return texts.length === 0 ? null : `[${texts.join(",")}]`;
}

/** Brings `runs.feedback_stats` up to date; runs that are not there (yet) are left alone. */
export function refreshStats(sql: SqlStorage, runIds: string[]): void {
  if (runIds.length === 0) return;
  const ids = JSON.stringify(runIds);
  const stats = new Map<string, RunStats>();
  for (const row of sql.exec<CommentedFeedback>(
    `SELECT run_id, ${LIGHT}, substr(rest ->> '$.comment', 1, ${MAX_COMMENT}) AS comment FROM feedback
     WHERE run_id IN (SELECT value FROM json_each(?)) ORDER BY created_at, id`,
    ids,
  )) {
    const own = stats.get(row.run_id) ?? { sums: new Map(), comments: new Map() };
    stats.set(row.run_id, own);
    addFeedback(own.sums, row);
    if (row.comment === null) continue;
    const comments = own.comments.get(row.key) ?? [];
    own.comments.set(row.key, comments);
    if (comments.length < MAX_COMMENTS) comments.push(row.comment);
  }
  const before = sql.exec<{ id: string }>(
    `SELECT id FROM runs WHERE feedback_stats IS NOT NULL AND n IN ${OF_IDS}`,
    ids,
  );
  for (const id of new Set([...stats.keys(), ...before.toArray().map((row) => row.id)])) {
    const own = stats.get(id);
    sql.exec(
      `UPDATE runs SET feedback_stats = ? WHERE n IN ${OF_IDS}`,
      own ? statsText(own) : null,
      JSON.stringify([id]),
    );
  }
}

interface RunStats {
  sums: Map<string, FeedbackSum>;
  comments: Map<string, string[]>;
}

/**
 * `{key: {n, avg, …, values, comments}}`: the breakdown of values is for string feedback only (specification section
 * 2.6).
 */
function statsText({ sums, comments }: RunStats): string {
  const shown = [...sums].slice(0, MAX_KEYS).map(([key, sum]) => [key, showSum(sum)] as const);
  const whole = JSON.stringify(
    Object.fromEntries(shown.map(([key, sum]) => [key, { ...sum, comments: comments.get(key) ?? [] }])),
  );
  if (Buffer.byteLength(whole) <= STATS_BYTES) return whole;
  // Values and comments are left out when the whole is too large.
  return JSON.stringify(Object.fromEntries(shown.map(([key, sum]) => [key, { ...sum, values: {}, comments: [] }])));
}
