/** Feedback on the partition's runs, and the statistics of it that each run carries. */
import type { FeedbackSum, StoredFeedback } from "../rpc.ts";

interface FeedbackRow extends Record<string, SqlStorageValue> {
  run_id: string | null;
  key: string;
  score: number | null;
  value: string | null;
  rest: string;
}

const MAX_LABELS = 100;
const MAX_COMMENTS = 10;

/** Inserts or replaces; gives what is stored. The first creation time stays. */
export function putFeedback(sql: SqlStorage, feedback: StoredFeedback): StoredFeedback {
  const [before] = getFeedback(sql, [feedback.id]);
  const stored = before ? { ...feedback, created_at: before.created_at } : feedback;
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
  return stored;
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

export function deleteFeedback(sql: SqlStorage, id: string): boolean {
  const [gone] = sql
    .exec<{ run_id: string | null }>("DELETE FROM feedback WHERE id = ? RETURNING run_id", id)
    .toArray();
  if (gone?.run_id) refreshStats(sql, [gone.run_id]);
  return gone !== undefined;
}

/** The raw feedback of runs, by run. */
export function feedbackOf(sql: SqlStorage, runIds: string[]): Map<string, unknown[]> {
  const byRun = new Map<string, unknown[]>();
  for (const row of rowsOf(sql, runIds)) {
    const list = byRun.get(row.run_id ?? "") ?? [];
    list.push(JSON.parse(row.rest));
    byRun.set(row.run_id ?? "", list);
  }
  return byRun;
}

/** Brings `runs.feedback_stats` up to date; runs that are not there (yet) are left alone. */
export function refreshStats(sql: SqlStorage, runIds: string[]): void {
  if (runIds.length === 0) return;
  const rows = rowsOf(sql, runIds);
  const withStats = sql.exec<{ id: string }>(
    "SELECT id FROM runs WHERE feedback_stats IS NOT NULL AND id IN (SELECT value FROM json_each(?))",
    JSON.stringify(runIds),
  );
  const affected = new Set([...rows.map((row) => row.run_id ?? ""), ...withStats.toArray().map(({ id }) => id)]);
  for (const id of affected) {
    const own = rows.filter((row) => row.run_id === id);
    const stats = own.length === 0 ? null : JSON.stringify(statsOf(own));
    sql.exec("UPDATE runs SET feedback_stats = ? WHERE id = ?", stats, id);
  }
}

function rowsOf(sql: SqlStorage, runIds: string[]): FeedbackRow[] {
  return sql
    .exec<FeedbackRow>(
      `SELECT run_id, key, score, value, rest FROM feedback
       WHERE run_id IN (SELECT value FROM json_each(?)) ORDER BY created_at, id`,
      JSON.stringify(runIds),
    )
    .toArray();
}

/** `{key: {n, avg, …, values}}`: the breakdown of values is for string feedback only (specification section 2.6). */
function statsOf(rows: FeedbackRow[]): Record<string, object> {
  return Object.fromEntries(
    Object.entries(sumFeedback(rows)).map(([key, sum]) => {
      const comments = rows
        .filter((row) => row.key === key)
        .flatMap(({ rest }) => (JSON.parse(rest) as StoredFeedback).comment ?? []);
      return [key, { ...showSum(sum), comments: comments.slice(0, MAX_COMMENTS) }];
    }),
  );
}

/** Feedback summed by key, so that sums of several partitions can be added. */
export function sumFeedback(
  rows: Pick<FeedbackRow, "key" | "score" | "value" | "rest">[],
): Record<string, FeedbackSum> {
  const sums = new Map<string, FeedbackSum>();
  for (const { key, score, value, rest } of rows) {
    const sum = sums.get(key) ?? { n: 0, scored: 0, sum: 0, squares: 0, min: null, max: null, errors: 0, values: {} };
    sums.set(key, sum);
    sum.n++;
    if (rest.includes('"error":true')) sum.errors += (JSON.parse(rest) as StoredFeedback).error ? 1 : 0;
    if (score !== null) addScore(sum, score);
    const label: unknown = value === null ? null : JSON.parse(value);
    if (typeof label === "string") addLabel(sum, label);
  }
  return Object.fromEntries(sums);
}

function addScore(sum: FeedbackSum, score: number): void {
  sum.scored++;
  sum.sum += score;
  sum.squares += score * score;
  sum.min = Math.min(sum.min ?? score, score);
  sum.max = Math.max(sum.max ?? score, score);
}

function addLabel(sum: FeedbackSum, label: string): void {
  const shown = label.slice(0, 250);
  if (!Object.hasOwn(sum.values, shown) && Object.keys(sum.values).length >= MAX_LABELS) return;
  sum.values[shown] = (Object.hasOwn(sum.values, shown) ? (sum.values[shown] ?? 0) : 0) + 1;
}

/** A sum as `feedback_stats` shows it. */
export function showSum({ n, scored, sum, squares, min, max, errors, values }: FeedbackSum): object {
  const avg = scored === 0 ? null : sum / scored;
  const variance = avg === null ? null : Math.max(0, squares / scored - avg * avg);
  return { n, avg, stdev: variance === null ? null : Math.sqrt(variance), min, max, errors, values };
}
