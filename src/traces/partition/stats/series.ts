/** Figures of a partition's runs by time and by a property, in one pass over them each. */
import type { RunSelection, SeriesRequest } from "../../rpc.ts";
import type { TraceStats, PartitionSeries, PartitionIdentity } from "../../types.ts";
import { HOUR_MICROS } from "../../time.ts";
import { selectSource, readBlockCondition } from "../blocks/candidates.ts";
import { stepSql } from "./durations.ts";
import { clip } from "../../text.ts";
import { countedSql, type CountedSql, countedUsage, withTables } from "./counted.ts";
import { type GroupSums, MAX_KEY_LENGTH } from "./groups.ts";
import { hasSums, isSummed, sumRuns, isSumsColumn, type SumsColumn } from "./rollups.ts";
import { numbersOfTraces } from "../store/ids.ts";
import { selectionCondition } from "../read/selection.ts";

/** The most values of a property that one partition reports: those with the most runs. */
const MAX_KEYS = 200;
const MODEL = "metadata ->> '$.ls_model_name'";
/** The keys of the feedback of a run, and each with the half of the scale that a score is in, once. */
const FEEDBACK = `SELECT json_group_array(DISTINCT k.value) FROM feedback f, json_each(json_array(
    f.key, f.key || CASE WHEN f.score >= 0.5 THEN '>=0.5' WHEN f.score < 0.5 THEN '<0.5' END)) k
  WHERE r.feedback_stats IS NOT NULL AND f.run_id = r.id AND k.value IS NOT NULL`;
/** The expression of a property of `runs r`, and what the query joins for it. */
const COLUMNS: Record<Exclude<NonNullable<SeriesRequest["by"]>, "trace_model">, { sql: string; join?: string }> = {
  status: { sql: "r.status" },
  name: { sql: "r.name" },
  run_type: { sql: "r.run_type" },
  model: { sql: `r.${MODEL}` },
  tag: { sql: "t.value", join: ", json_each(r.tags) t" },
  user: { sql: "r.metadata ->> '$.user_id'" },
  feedback: { sql: "t.value", join: `, json_each((${FEEDBACK})) t` },
};

/** Running runs have the step null. */
const STEP = `CASE WHEN r.end_time IS NOT NULL THEN ${stepSql("r.end_time - r.start_time")} END`;

const figures = (column: CountedSql["column"]) => `${STEP} AS step, count(*) AS run_count,
  sum(r.error IS NOT NULL) AS error_count, sum(r.end_time IS NULL) AS pending_count,
  ${FIGURE_COLUMNS.map((name) => `sum(coalesce(${column(name)}, 0)) AS ${name}`).join(", ")}`;

const FIGURE_COLUMNS = ["prompt_tokens", "completion_tokens", "total_tokens", "total_cost"] as const;

/** The statistics of no runs. */
export const NO_SERIES: PartitionSeries = { times: [], keys: [] };

export function partitionSeries(
  sql: SqlStorage,
  identity: PartitionIdentity,
  selection: RunSelection,
  { interval, by }: SeriesRequest,
): PartitionSeries {
  const canSum = interval % HOUR_MICROS === 0 && isSummed(selection) && hasSums(sql);
  if (canSum && (by === undefined || isSumsColumn(by))) return summedSeries(sql, identity, selection, interval, by);
  const condition = selectionCondition(sql, identity, selection);
  const source = selectSource(sql, readBlockCondition(selection));
  const where = `${source.sql} AND ${condition.sql}`;
  const values = [...source.values, ...condition.values];
  const counted = countedSql(countedUsage(selection), `${source.from} WHERE ${where}`, values);
  const grouped = (key: string, from: string, isText: boolean) => {
    const read = `SELECT ${key} AS key, ${figures(counted.column)} FROM ${from} WHERE ${where} GROUP BY 1, 2`;
    return joinFigures(sql.exec<Row>(withTables(counted.tables, read), ...counted.values, ...values), isText);
  };
  const times = canSum
    ? summedSeries(sql, identity, selection, interval, undefined).times
    : grouped(`r.start_time / ${interval} * ${interval}`, source.from, false);
  if (by === undefined) return { times, keys: [] };
  const keys =
    by === "trace_model"
      ? joinFigures(
          sql.exec<Row>(traceModels(`${source.from} WHERE ${where}`, counted), ...counted.values, ...values),
          true,
        )
      : grouped(COLUMNS[by].sql, `${source.from}${COLUMNS[by].join ?? ""}`, true);
  return { times, keys: keys.sort((a, b) => b.run_count - a.run_count).slice(0, MAX_KEYS) };
}

/** The figures of the selected runs by each model of their traces. The runs of a trace are read once, also when many of them are selected. */
const traceModels = (selected: string, { tables, column }: CountedSql) =>
  withTables(
    [
      ...tables,
      `listed AS MATERIALIZED (
        SELECT r.trace_id, r.start_time, r.end_time, r.error, ${FIGURE_COLUMNS.map((name) => `${column(name)} AS ${name}`).join(", ")}
        FROM ${selected}
      )`,
      `models AS MATERIALIZED (
        SELECT DISTINCT m.trace_id, m.${MODEL} AS model FROM runs m
        WHERE m.n IN ${numbersOfTraces("SELECT DISTINCT trace_id AS id FROM listed")} AND m.${MODEL} IS NOT NULL
      )`,
    ],
    `SELECT t.model AS key, ${figures((name) => `r.${name}`)} FROM models t CROSS JOIN listed r ON r.trace_id = t.trace_id GROUP BY 1, 2`,
  );

/** As above, from the sums of sealed blocks, which are by the hour and without tags. */
function summedSeries(
  sql: SqlStorage,
  identity: PartitionIdentity,
  selection: RunSelection,
  interval: number,
  by: SumsColumn | undefined,
): PartitionSeries {
  const times = new Map<number, TraceStats>();
  for (const { hour, ...sums } of sumRuns(sql, identity, selection, { hour: true })) {
    const key = (hour ?? 0) - ((hour ?? 0) % interval);
    const stats = statsOfSums(key, sums);
    const known = times.get(key);
    times.set(key, known ? addStats(known, stats) : stats);
  }
  const keys = by ? sumRuns(sql, identity, selection, { column: by }) : [];
  return {
    times: [...times.values()],
    keys: keys.flatMap(({ key, ...sums }) => (key === null ? [] : [statsOfSums(key, sums)])).slice(0, MAX_KEYS),
  };
}

function statsOfSums(key: string | number, { latencies: durations, ...sums }: GroupSums): TraceStats {
  const ended = Object.values(durations).reduce((total, count) => total + count, 0);
  return {
    key,
    run_count: sums.run_count,
    error_count: sums.error_count,
    pending_count: sums.run_count - ended,
    prompt_tokens: sums.prompt_tokens,
    completion_tokens: sums.completion_tokens,
    total_tokens: sums.total_tokens,
    total_cost: sums.total_cost,
    durations,
  };
}

interface Row extends Record<string, SqlStorageValue> {
  key: string | number | null;
  step: number | null;
  run_count: number;
  error_count: number;
  pending_count: number;
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  total_cost: number;
}

/** Joins the rows of one key, one for each step. Runs without the property are left out. */
function joinFigures(rows: Iterable<Row>, isText: boolean): TraceStats[] {
  const found = new Map<string | number, TraceStats>();
  for (const { key: whole, step, ...sums } of rows) {
    if (whole === null) continue;
    const key = isText ? clip(String(whole), MAX_KEY_LENGTH) : whole;
    const durations: TraceStats["durations"] = step === null ? {} : { [step]: sums.run_count };
    const known = found.get(key);
    found.set(key, known ? addStats(known, { key, ...sums, durations }) : { key, ...sums, durations });
  }
  return [...found.values()];
}

/** The statistics of the runs of both, under the key of the first. */
export function addStats(a: TraceStats, b: TraceStats): TraceStats {
  return {
    key: a.key,
    run_count: a.run_count + b.run_count,
    error_count: a.error_count + b.error_count,
    pending_count: a.pending_count + b.pending_count,
    prompt_tokens: a.prompt_tokens + b.prompt_tokens,
    completion_tokens: a.completion_tokens + b.completion_tokens,
    total_tokens: a.total_tokens + b.total_tokens,
    total_cost: a.total_cost + b.total_cost,
    durations: addCounts(a.durations, b.durations),
  };
}

function addCounts(a: TraceStats["durations"], b: TraceStats["durations"]): TraceStats["durations"] {
  const sums = { ...a };
  for (const [step, runs] of Object.entries(b)) sums[Number(step)] = (sums[Number(step)] ?? 0) + runs;
  return sums;
}
