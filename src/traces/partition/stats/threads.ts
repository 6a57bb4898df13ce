/** The threads of a partition's runs. */
import { joinPayloads, payloadSql } from "../store/packs.ts";
import { preview } from "../../preview.ts";
import type { RunSelection } from "../../rpc.ts";
import type { PartitionIdentity, ThreadSummary } from "../../types.ts";
import { selectionCondition } from "../read/selection.ts";
import { DurationCounter } from "./durations.ts";

/** The most threads that one partition gives. */
export const MOST_THREADS = 1_000;
/** The most different durations of one thread that are exact. */
const MOST_EXACT = 200;
const ERROR_PREVIEW = 1_000;

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
       FROM runs r WHERE r.thread_id IS NOT NULL AND ${where} GROUP BY r.thread_id ORDER BY max_start_time DESC LIMIT ${MOST_THREADS}`,
      ...values,
    )
    .toArray();
  const readLatencies = (threadId: string) => {
    const counter = new DurationCounter(MOST_EXACT);
    const turns = sql.exec<{ micros: number }>(
      `SELECT max(0, r.end_time - r.start_time) AS micros FROM runs r
       WHERE r.thread_id = ? AND r.end_time IS NOT NULL AND ${where}`,
      threadId,
      ...values,
    );
    for (const { micros } of turns) counter.add(micros);
    return counter.counts();
  };
  return rows.map(({ thread_id, ...sums }) => ({
    thread_id,
    ...sums,
    latencies: readLatencies(thread_id),
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
      `SELECT ${payloadSql("inputs")} AS inputs, ${payloadSql("outputs")} AS outputs, substr(r.error, 1, ${ERROR_PREVIEW}) AS error
       FROM runs r ${joinPayloads()}
       WHERE r.thread_id = ? AND r.is_root = 1 ORDER BY r.start_time ${order} LIMIT 1`,
      threadId,
    )
    .toArray()[0];
}
