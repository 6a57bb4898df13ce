/** Statistics over a partition's runs, and a run's descendants. */
import type { RunSelection } from "../../rpc.ts";
import type {
  DurationCounts,
  PartitionIdentity,
  PartitionStats,
  RunSums,
  ThreadStats,
  UsageDetail,
  ThreadSummary,
} from "../../types.ts";
import { type LightFeedback, sumFeedback } from "../../review/feedback/sums.ts";
import { LIGHT } from "../feedback.ts";
import { numbersOfTraces, numbersOfId, OF_IDS } from "../store/ids.ts";
import { selectSource, readBlockCondition } from "../blocks/candidates.ts";
import { selectionCondition } from "../read/selection.ts";
import { readCounts, DurationCounter, stepSql } from "./durations.ts";
import { type CountedUsage, countedSql, countedUsage, USAGE_COLUMNS, withTables } from "./counted.ts";
import { addRun, addSums, GROUPED, GROUPED_COLUMNS, type Groups, type GroupSums, NO_SUMS } from "./groups.ts";
import { hasSums, isSummed, sumRuns } from "./rollups.ts";
import { joinPayloads, payloadSql } from "../store/payloads.ts";
import { previewText_ as preview } from "../../text.ts";

/** Up to this many runs are read one by one, and their durations are exact. */
const FEW = 2_000;

/** The statistics of no runs. */
export const NO_STATS: PartitionStats = { ...NO_SUMS, latencies: new Map(), first_tokens: new Map(), feedback: {} };

const NO_GROUP: GroupSums = { ...NO_SUMS, latencies: {}, first_tokens: {}, own: [] };

type Figures = RunSums & Pick<PartitionStats, "latencies" | "first_tokens">;

/** Sums over the selected runs, and their durations for percentiles. */
export function partitionStats(sql: SqlStorage, identity: PartitionIdentity, selection: RunSelection): PartitionStats {
  if (isSummed(selection) && hasSums(sql)) return summedStats(sql, identity, selection);
  const condition = selectionCondition(sql, identity, selection);
  const source = selectSource(sql, readBlockCondition(selection));
  const where = `${source.sql} AND ${condition.sql}`;
  const values = [...source.values, ...condition.values];
  const newest = `SELECT ${GROUPED}, r.id, r.parent_run_ids FROM ${source.from} WHERE ${where} ORDER BY r.start_time DESC LIMIT ${FEW + 1}`;
  const rows = [...sql.exec(newest, ...values).raw()];
  const counted = countedUsage(selection);
  // When few runs match, their sums need no second pass over the runs that do not match.
  const figures =
    rows.length > FEW
      ? figuresInSql(sql, `${source.from} WHERE ${where}`, values, counted)
      : figuresOfRows(rows, counted);
  // SQLite evaluates a list behind IN for an empty table, too: in a large day, the runs are looked up from the feedback.
  const feedback = sql.exec<LightFeedback>(
    source.isSmall
      ? `SELECT ${LIGHT} FROM feedback WHERE run_id IN (SELECT r.id FROM ${source.from} WHERE ${where})`
      : `SELECT ${LIGHT} FROM feedback f CROSS JOIN ${source.from} ON r.n IN ${numbersOfId("f.run_id")} WHERE ${where}`,
    ...values,
  );
  return { ...figures, feedback: sumFeedback(feedback) };
}

/** The sums of a group, without what else it has. */
function pickSums(group: RunSums): RunSums {
  const names = Object.keys(NO_SUMS) as (keyof RunSums)[];
  return { ...NO_SUMS, ...Object.fromEntries(names.map((name) => [name, group[name]])) };
}

const stepOfColumn = (column: string) =>
  `CASE WHEN ${column} IS NOT NULL THEN ${stepSql(`${column} - r.start_time`)} END`;

/** One pass over the runs, grouped by the steps of their durations. */
function figuresInSql(sql: SqlStorage, runs: string, values: (string | number)[], counted: CountedUsage): Figures {
  const { tables, column, ...bound } = countedSql(counted, runs, values);
  const groups = sql.exec<Record<keyof RunSums, number> & { latency: number | null; first_token: number | null }>(
    withTables(
      tables,
      `SELECT ${stepOfColumn("r.end_time")} AS latency, ${stepOfColumn("r.first_token_time")} AS first_token,
       count(*) AS run_count, sum(r.error IS NOT NULL) AS error_count, sum(r.first_token_time IS NOT NULL) AS streaming_count,
       ${USAGE_COLUMNS.map((name) => `coalesce(sum(${column(name)}), 0) AS ${name}`).join(", ")},
       max(r.start_time) AS last_run_start_time
     FROM ${runs} GROUP BY 1, 2`,
    ),
    ...bound.values,
    ...values,
  );
  const sums = { ...NO_GROUP, latencies: {}, first_tokens: {}, own: [] };
  for (const { latency, first_token, ...group } of groups) {
    const counted = (step: number | null) => (step === null ? {} : { [step]: group.run_count });
    addSums(sums, { ...group, latencies: counted(latency), first_tokens: counted(first_token), own: [] });
  }
  return { ...pickSums(sums), latencies: readCounts(sums.latencies), first_tokens: readCounts(sums.first_tokens) };
}

/** `rows`: `GROUPED`, then the id and the ids above it. */
function figuresOfRows(rows: SqlStorageValue[][], counted: CountedUsage): Figures {
  const groups: Groups = new Map();
  const selected = new Set(rows.map((row) => row[GROUPED_COLUMNS.length]));
  const isBelowAnother = (row: SqlStorageValue[]) =>
    (JSON.parse(row[GROUPED_COLUMNS.length + 1] as string) as string[]).some((id) => selected.has(id));
  for (const row of rows) {
    const isCounted = (spends: boolean) =>
      counted === "outermost" ? !isBelowAnother(row) : counted === "totals" || spends;
    addRun(groups, row, () => "", isCounted);
  }
  return {
    ...pickSums(groups.get("") ?? NO_SUMS),
    latencies: countTimes(rows, "r.end_time"),
    first_tokens: countTimes(rows, "r.first_token_time"),
  };
}

/** From the beginning of each run to a time that is a column of `GROUPED`. */
function countTimes(rows: SqlStorageValue[][], column: (typeof GROUPED_COLUMNS)[number]): DurationCounts {
  const counter = new DurationCounter(FEW);
  for (const row of rows) {
    const [start, at] = [row[0] as number, row[GROUPED_COLUMNS.indexOf(column)] as number | null];
    // SDKs give beginnings by the microsecond and ends by the millisecond, so an end may seem to come first.
    if (at !== null) counter.add(Math.max(0, at - start));
  }
  return counter.counts();
}

/** As above, from the sums of sealed blocks. */
function summedStats(sql: SqlStorage, identity: PartitionIdentity, selection: RunSelection): PartitionStats {
  const sums = sumRuns(sql, identity, selection, {})[0] ?? NO_GROUP;
  const condition = selectionCondition(sql, identity, selection);
  const feedback = sql.exec<LightFeedback>(
    `SELECT ${LIGHT} FROM feedback f CROSS JOIN runs r ON r.n IN ${numbersOfId("f.run_id")} WHERE ${condition.sql}`,
    ...condition.values,
  );
  return {
    ...pickSums(sums),
    latencies: readCounts(sums.latencies),
    first_tokens: readCounts(sums.first_tokens),
    feedback: sumFeedback(feedback),
  };
}

/** Ids of a run's children and of all its descendants within the partition, in tree order. */
export function readChildren(sql: SqlStorage, id: string): { direct: string[]; all: string[] } {
  const rows = sql
    .exec<{ id: string; parent_run_id: string | null }>(
      `SELECT c.id, c.parent_run_id FROM runs r JOIN runs c ON c.n IN ${numbersOfTraces("SELECT r.trace_id AS id")}
       WHERE r.n IN ${OF_IDS} AND c.id != r.id AND EXISTS (SELECT 1 FROM json_each(c.parent_run_ids) a WHERE a.value = r.id)
       ORDER BY c.dotted_order`,
      JSON.stringify([id]),
    )
    .toArray();
  return {
    direct: rows.filter((row) => row.parent_run_id === id).map((row) => row.id),
    all: rows.map((row) => row.id),
  };
}

// Statistics of the turns of threads: root runs that have a thread.

/** The most ids of threads that one partition gives: 5 MB of the longest ids. */
export const MAX_IDS = 10_000;
/** The most kinds of tokens, as in the sum of a run's descendants. */
const MAX_KINDS = 100;

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
  const source = selectSource(sql, readBlockCondition(turns));
  const where = `${source.sql} AND ${condition.sql}`;
  const values = [...source.values, ...condition.values];
  const bounds = sql.exec<{ first_start_time: number | null; last_end_time: number | null }>(
    `SELECT min(r.start_time) AS first_start_time, max(r.end_time) AS last_end_time FROM ${source.from} WHERE ${where}`,
    ...values,
  );
  const threads = sql.exec<{ id: string }>(
    `SELECT DISTINCT r.thread_id AS id FROM ${source.from} WHERE ${where} LIMIT ${MAX_IDS}`,
    ...values,
  );
  const details = sql.exec<Pick<UsageDetail, keyof UsageDetail>>(
    `SELECT side.key AS side, kind.key AS kind, sum(kind.value) AS sum
     FROM ${source.from}, json_each(r.usage_details) side, json_each(side.value) kind
     WHERE r.usage_details IS NOT NULL AND ${where} GROUP BY 1, 2 ORDER BY 3 DESC LIMIT ${4 * MAX_KINDS}`,
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

// The threads of a partition's runs.

/** The most threads that one partition gives. */
export const MAX_LISTED_THREADS = 1_000;
/** The most different durations of one thread that are exact. */
const MAX_EXACT = 200;
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
       FROM runs r WHERE r.thread_id IS NOT NULL AND ${where} GROUP BY r.thread_id ORDER BY max_start_time DESC LIMIT ${MAX_LISTED_THREADS}`,
      ...values,
    )
    .toArray();
  const readLatencies = (threadId: string) => {
    const counter = new DurationCounter(MAX_EXACT);
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
