/** Statistics over a partition's runs, threads, and a run's descendants. */
import { preview } from "../preview.ts";
import type { RunSelection } from "../rpc.ts";
import type { PartitionIdentity, PartitionStats, ThreadSummary } from "../types.ts";
import { type LightFeedback, sumFeedback } from "../feedback/sums.ts";
import { LIGHT } from "./feedback.ts";
import { sourceOf } from "./blocks/candidates.ts";
import { wantedOf } from "./blocks/wanted.ts";
import { selectionCondition } from "./read.ts";
import { durationsOf, NO_SUMS } from "./rollups/groups.ts";
import { hasSums, isSummed, sumRuns } from "./rollups/read.ts";

/** Percentiles are taken from at most this many runs of a partition. */
const SAMPLE = 2_000;
/** The most durations of one thread. */
const THREAD_SAMPLE = 200;
const ERROR_PREVIEW = 1_000;

/** The statistics of no runs. */
export const NO_STATS: PartitionStats = { ...NO_SUMS, latencies: [], first_tokens: [], feedback: {} };

/** Sums over the selected runs, and a sample of their times for percentiles. */
export function partitionStats(sql: SqlStorage, identity: PartitionIdentity, selection: RunSelection): PartitionStats {
  if (isSummed(selection) && hasSums(sql)) return summedStats(sql, identity, selection);
  const condition = selectionCondition(sql, identity, selection);
  const source = sourceOf(sql, wantedOf(selection));
  const where = `${source.sql} AND ${condition.sql}`;
  const values = [...source.values, ...condition.values];
  const sums = sql
    .exec<Record<string, number | null>>(
      `SELECT count(*) AS run_count, sum(r.error IS NOT NULL) AS error_count, sum(r.first_token_time IS NOT NULL) AS streaming_count,
       sum(r.total_tokens) AS total_tokens, sum(r.prompt_tokens) AS prompt_tokens, sum(r.completion_tokens) AS completion_tokens,
       sum(r.total_cost) AS total_cost, sum(r.prompt_cost) AS prompt_cost, sum(r.completion_cost) AS completion_cost,
       max(r.start_time) AS last_run_start_time FROM ${source.from} WHERE ${where}`,
      ...values,
    )
    .one();
  // SDKs give beginnings by the microsecond and ends by the millisecond, so an end may seem to come first.
  const times = sql
    .exec<{ latency: number | null; first: number | null }>(
      `SELECT max(0, (r.end_time - r.start_time) / 1e6) AS latency, max(0, (r.first_token_time - r.start_time) / 1e6) AS first
       FROM ${source.from} WHERE ${where} ORDER BY r.start_time DESC LIMIT ${SAMPLE}`,
      ...values,
    )
    .toArray();
  const feedback = sql.exec<LightFeedback>(
    `SELECT ${LIGHT} FROM feedback WHERE run_id IN (SELECT r.id FROM ${source.from} WHERE ${where})`,
    ...values,
  );
  const sum = (name: string) => sums[name] ?? 0;
  return {
    run_count: sum("run_count"),
    error_count: sum("error_count"),
    streaming_count: sum("streaming_count"),
    total_tokens: sum("total_tokens"),
    prompt_tokens: sum("prompt_tokens"),
    completion_tokens: sum("completion_tokens"),
    total_cost: sum("total_cost"),
    prompt_cost: sum("prompt_cost"),
    completion_cost: sum("completion_cost"),
    last_run_start_time: sums["last_run_start_time"] ?? null,
    latencies: times.flatMap(({ latency }) => latency ?? []),
    first_tokens: times.flatMap(({ first }) => first ?? []),
    feedback: sumFeedback(feedback),
  };
}

/** As above, from the sums of sealed blocks. */
function summedStats(sql: SqlStorage, identity: PartitionIdentity, selection: RunSelection): PartitionStats {
  const {
    hour: _hour,
    key: _key,
    latencies,
    first_tokens,
    ...sums
  } = sumRuns(sql, identity, selection, {})[0] ?? {
    ...NO_SUMS,
    latencies: {},
    first_tokens: {},
    hour: null,
    key: null,
  };
  const condition = selectionCondition(sql, identity, selection);
  const feedback = sql.exec<LightFeedback>(
    `SELECT ${LIGHT} FROM feedback f CROSS JOIN runs r ON r.id = f.run_id WHERE ${condition.sql}`,
    ...condition.values,
  );
  return {
    ...sums,
    latencies: durationsOf(latencies, SAMPLE),
    first_tokens: durationsOf(first_tokens, SAMPLE),
    feedback: sumFeedback(feedback),
  };
}

interface ThreadRow extends Record<string, SqlStorageValue> {
  thread_id: string;
  count: number;
  min_start_time: number;
  max_start_time: number;
  total_tokens: number;
  total_cost: number;
}

/** The threads that the selected root runs belong to, newest first. */
export function listThreads(sql: SqlStorage, identity: PartitionIdentity, selection: RunSelection): ThreadSummary[] {
  const { sql: where, values } = selectionCondition(sql, identity, { ...selection, isRoot: true });
  const rows = sql
    .exec<ThreadRow>(
      `SELECT r.thread_id, count(*) AS count, min(r.start_time) AS min_start_time, max(r.start_time) AS max_start_time,
       sum(COALESCE(r.total_tokens, 0)) AS total_tokens, sum(COALESCE(r.total_cost, 0)) AS total_cost
       FROM runs r WHERE r.thread_id IS NOT NULL AND ${where} GROUP BY r.thread_id ORDER BY max_start_time DESC LIMIT 1000`,
      ...values,
    )
    .toArray();
  const latenciesOf = (threadId: string) =>
    sql
      .exec<{ latency: number }>(
        `SELECT max(0, (r.end_time - r.start_time) / 1e6) AS latency FROM runs r
         WHERE r.thread_id = ? AND r.end_time IS NOT NULL AND ${where} ORDER BY r.start_time DESC LIMIT ${THREAD_SAMPLE}`,
        threadId,
        ...values,
      )
      .toArray()
      .map(({ latency }) => latency);
  return rows.map(({ thread_id, ...sums }) => ({
    thread_id,
    ...sums,
    latencies: latenciesOf(thread_id),
    first_inputs: preview(turn(sql, thread_id, "asc")?.inputs ?? null),
    last_outputs: preview(turn(sql, thread_id, "desc")?.outputs ?? null),
    last_error: turn(sql, thread_id, "desc")?.error ?? null,
  }));
}

interface Turn extends Record<string, SqlStorageValue> {
  inputs: string | null;
  outputs: string | null;
  error: string | null;
}

function turn(sql: SqlStorage, threadId: string, order: "asc" | "desc"): Turn | undefined {
  return sql
    .exec<Turn>(
      `SELECT p.inputs, p.outputs, substr(r.error, 1, ${ERROR_PREVIEW}) AS error FROM runs r JOIN payloads p ON p.n = r.n
       WHERE r.thread_id = ? AND r.is_root = 1 ORDER BY r.start_time ${order} LIMIT 1`,
      threadId,
    )
    .toArray()[0];
}

/** Ids of a run's children and of all its descendants within the partition, in tree order. */
export function childrenOf(sql: SqlStorage, id: string): { direct: string[]; all: string[] } {
  const rows = sql
    .exec<{ id: string; parent_run_id: string | null }>(
      `SELECT c.id, c.parent_run_id FROM runs r JOIN runs c ON c.trace_id = r.trace_id
       WHERE r.id = ? AND c.id != r.id AND EXISTS (SELECT 1 FROM json_each(c.parent_run_ids) a WHERE a.value = r.id)
       ORDER BY c.dotted_order`,
      id,
    )
    .toArray();
  return {
    direct: rows.filter((row) => row.parent_run_id === id).map((row) => row.id),
    all: rows.map((row) => row.id),
  };
}
