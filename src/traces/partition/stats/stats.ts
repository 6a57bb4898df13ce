/** Statistics over a partition's runs, and a run's descendants. */
import type { RunSelection } from "../../rpc.ts";
import type { DurationCounts, PartitionIdentity, PartitionStats, RunSums } from "../../types.ts";
import { type LightFeedback, sumFeedback } from "../../review/feedback/sums.ts";
import { LIGHT } from "../feedback.ts";
import { numbersOfTraces } from "../../run-groups.ts";
import { selectSource } from "../blocks/candidates.ts";
import { readWanted } from "../blocks/wanted.ts";
import { selectionCondition } from "../read/selection.ts";
import { readCounts, DurationCounter, stepSql } from "./durations.ts";
import { addRun, addSums, GROUPED, GROUPED_COLUMNS, type Groups, type GroupSums, NO_SUMS } from "./groups.ts";
import { hasSums, isSummed, sumRuns } from "./rollups.ts";
import { numbersOfId, OF_IDS } from "../store/ids.ts";

/** Up to this many runs are read one by one, and their durations are exact. */
const FEW = 2_000;

/** The statistics of no runs. */
export const NO_STATS: PartitionStats = { ...NO_SUMS, latencies: new Map(), first_tokens: new Map(), feedback: {} };

const NO_GROUP: GroupSums = { ...NO_SUMS, latencies: {}, first_tokens: {} };

type Figures = RunSums & Pick<PartitionStats, "latencies" | "first_tokens">;

/** Sums over the selected runs, and their durations for percentiles. */
export function partitionStats(sql: SqlStorage, identity: PartitionIdentity, selection: RunSelection): PartitionStats {
  if (isSummed(selection) && hasSums(sql)) return summedStats(sql, identity, selection);
  const condition = selectionCondition(sql, identity, selection);
  const source = selectSource(sql, readWanted(selection));
  const where = `${source.sql} AND ${condition.sql}`;
  const values = [...source.values, ...condition.values];
  const newest = `SELECT ${GROUPED} FROM ${source.from} WHERE ${where} ORDER BY r.start_time DESC LIMIT ${FEW + 1}`;
  const rows = [...sql.exec(newest, ...values).raw()];
  // When few runs match, their sums need no second pass over the runs that do not match.
  const figures = rows.length > FEW ? figuresInSql(sql, `${source.from} WHERE ${where}`, values) : figuresOfRows(rows);
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
function figuresInSql(sql: SqlStorage, runs: string, values: (string | number)[]): Figures {
  const groups = sql.exec<Record<keyof RunSums, number> & { latency: number | null; first_token: number | null }>(
    `SELECT ${stepOfColumn("r.end_time")} AS latency, ${stepOfColumn("r.first_token_time")} AS first_token,
       count(*) AS run_count, sum(r.error IS NOT NULL) AS error_count, sum(r.first_token_time IS NOT NULL) AS streaming_count,
       coalesce(sum(r.total_tokens), 0) AS total_tokens, coalesce(sum(r.prompt_tokens), 0) AS prompt_tokens,
       coalesce(sum(r.completion_tokens), 0) AS completion_tokens, coalesce(sum(r.total_cost), 0) AS total_cost,
       coalesce(sum(r.prompt_cost), 0) AS prompt_cost, coalesce(sum(r.completion_cost), 0) AS completion_cost,
       max(r.start_time) AS last_run_start_time
     FROM ${runs} GROUP BY 1, 2`,
    ...values,
  );
  const sums = { ...NO_GROUP, latencies: {}, first_tokens: {} };
  for (const { latency, first_token, ...group } of groups) {
    const counted = (step: number | null) => (step === null ? {} : { [step]: group.run_count });
    addSums(sums, { ...group, latencies: counted(latency), first_tokens: counted(first_token) });
  }
  return { ...pickSums(sums), latencies: readCounts(sums.latencies), first_tokens: readCounts(sums.first_tokens) };
}

function figuresOfRows(rows: SqlStorageValue[][]): Figures {
  const groups: Groups = new Map();
  for (const row of rows) addRun(groups, row, () => "");
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
