/** Statistics over a partition's runs, and a run's descendants. */
import type { RunSelection } from "../../rpc.ts";
import type { PartitionIdentity, PartitionStats, RunSums } from "../../types.ts";
import { type LightFeedback, sumFeedback } from "../../feedback/sums.ts";
import { LIGHT } from "../feedback.ts";
import { sourceOf } from "../blocks/candidates.ts";
import { wantedOf } from "../blocks/wanted.ts";
import { selectionCondition } from "../selection.ts";
import { addRun, durationsOf, GROUPED, GROUPED_COLUMNS, type Groups, NO_SUMS } from "./rollups/groups.ts";
import { hasSums, isSummed, sumRuns } from "./rollups/read.ts";

/** Percentiles are taken from at most this many runs of a partition. */
const SAMPLE = 2_000;

/** The statistics of no runs. */
export const NO_STATS: PartitionStats = { ...NO_SUMS, latencies: [], first_tokens: [], feedback: {} };

type Sums = { [Name in keyof RunSums]?: number | null };

/** Sums over the selected runs, and a sample of their times for percentiles. */
export function partitionStats(sql: SqlStorage, identity: PartitionIdentity, selection: RunSelection): PartitionStats {
  if (isSummed(selection) && hasSums(sql)) return summedStats(sql, identity, selection);
  const condition = selectionCondition(sql, identity, selection);
  const source = sourceOf(sql, wantedOf(selection));
  const where = `${source.sql} AND ${condition.sql}`;
  const values = [...source.values, ...condition.values];
  const newest = `SELECT ${GROUPED} FROM ${source.from} WHERE ${where} ORDER BY r.start_time DESC LIMIT ${SAMPLE + 1}`;
  const rows = [...sql.exec(newest, ...values).raw()];
  // When few runs match, their sums need no second pass over the runs that do not match.
  const sums = rows.length > SAMPLE ? sumsInSql(sql, `${source.from} WHERE ${where}`, values) : sumsOfRows(rows);
  const times = timesOf(rows.slice(0, SAMPLE));
  // SQLite evaluates a list behind IN for an empty table, too: in a large day, the runs are looked up from the feedback.
  const feedback = sql.exec<LightFeedback>(
    source.isSmall
      ? `SELECT ${LIGHT} FROM feedback WHERE run_id IN (SELECT r.id FROM ${source.from} WHERE ${where})`
      : `SELECT ${LIGHT} FROM feedback f CROSS JOIN ${source.from} ON r.id = f.run_id WHERE ${where}`,
    ...values,
  );
  const sum = (name: keyof Sums) => sums[name] ?? 0;
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
    last_run_start_time: sums.last_run_start_time ?? null,
    ...times,
    feedback: sumFeedback(feedback),
  };
}

function sumsInSql(sql: SqlStorage, runs: string, values: (string | number)[]): Sums {
  return sql
    .exec<Record<keyof Sums, number | null>>(
      `SELECT count(*) AS run_count, sum(r.error IS NOT NULL) AS error_count, sum(r.first_token_time IS NOT NULL) AS streaming_count,
       sum(r.total_tokens) AS total_tokens, sum(r.prompt_tokens) AS prompt_tokens, sum(r.completion_tokens) AS completion_tokens,
       sum(r.total_cost) AS total_cost, sum(r.prompt_cost) AS prompt_cost, sum(r.completion_cost) AS completion_cost,
       max(r.start_time) AS last_run_start_time FROM ${runs}`,
      ...values,
    )
    .one();
}

/** The sums of rows of `GROUPED`. */
function sumsOfRows(rows: SqlStorageValue[][]): Sums {
  const groups: Groups = new Map();
  for (const row of rows) addRun(groups, row, () => "");
  return groups.get("") ?? {};
}

/** The durations of rows of `GROUPED`, seconds. */
function timesOf(rows: SqlStorageValue[][]): Pick<PartitionStats, "latencies" | "first_tokens"> {
  const since = (row: SqlStorageValue[], column: (typeof GROUPED_COLUMNS)[number]) => {
    const [start, at] = [row[0] as number, row[GROUPED_COLUMNS.indexOf(column)] as number | null];
    // SDKs give beginnings by the microsecond and ends by the millisecond, so an end may seem to come first.
    return at === null ? [] : [Math.max(0, (at - start) / 1e6)];
  };
  return {
    latencies: rows.flatMap((row) => since(row, "r.end_time")),
    first_tokens: rows.flatMap((row) => since(row, "r.first_token_time")),
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
