/** Statistics of the turns of threads: root runs that have a thread. */
import type { RunSelection } from "../../rpc.ts";
import type { PartitionIdentity, ThreadStats, UsageDetail } from "../../types.ts";
import { selectSource } from "../blocks/candidates.ts";
import { readWanted } from "../blocks/wanted.ts";
import { selectionCondition } from "../read/selection.ts";
import { DurationCounter } from "./durations.ts";
import { NO_STATS, partitionStats } from "./stats.ts";

/** The most ids of threads that one partition gives: 5 MB of the longest ids. */
export const MOST_IDS = 10_000;
/** The most kinds of tokens, as in the sum of a run's descendants. */
const MOST_KINDS = 100;

/** The statistics of no turns. */
export const NO_THREAD_STATS: ThreadStats = {
  ...NO_STATS,
  first_start_time: null,
  last_end_time: null,
  thread_ids: [],
  tokens: new Map(),
  details: [],
};

export function threadStats(sql: SqlStorage, identity: PartitionIdentity, selection: RunSelection): ThreadStats {
  const turns = { ...selection, isRoot: true, hasThread: true };
  const condition = selectionCondition(sql, identity, turns);
  const source = selectSource(sql, readWanted(turns));
  const where = `${source.sql} AND ${condition.sql}`;
  const values = [...source.values, ...condition.values];
  const bounds = sql.exec<{ first_start_time: number | null; last_end_time: number | null }>(
    `SELECT min(r.start_time) AS first_start_time, max(r.end_time) AS last_end_time FROM ${source.from} WHERE ${where}`,
    ...values,
  );
  const threads = sql.exec<{ id: string }>(
    `SELECT DISTINCT r.thread_id AS id FROM ${source.from} WHERE ${where} LIMIT ${MOST_IDS}`,
    ...values,
  );
  const details = sql.exec<Pick<UsageDetail, keyof UsageDetail>>(
    `SELECT side.key AS side, kind.key AS kind, sum(kind.value) AS sum
     FROM ${source.from}, json_each(r.usage_details) side, json_each(side.value) kind
     WHERE r.usage_details IS NOT NULL AND ${where} GROUP BY 1, 2 ORDER BY 3 DESC LIMIT ${4 * MOST_KINDS}`,
    ...values,
  );
  // Counted as durations are: exactly when there are few, and else in steps.
  const tokens = new DurationCounter();
  const counts = sql.exec<{ tokens: number; turns: number }>(
    `SELECT r.total_tokens AS tokens, count(*) AS turns FROM ${source.from}
     WHERE r.total_tokens IS NOT NULL AND ${where} GROUP BY 1`,
    ...values,
  );
  for (const count of counts) tokens.add(count.tokens, count.turns);
  return {
    ...partitionStats(sql, identity, turns),
    ...bounds.one(),
    thread_ids: threads.toArray().map(({ id }) => id),
    tokens: tokens.counts(),
    details: details.toArray(),
  };
}
