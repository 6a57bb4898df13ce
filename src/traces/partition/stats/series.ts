/** Figures of a partition's runs by time and by a property, in one pass over them each. */
import type { RunSelection, SeriesRequest } from "../../rpc.ts";
import type { Stats, PartitionSeries, PartitionIdentity } from "../../types.ts";
import { HOUR_MICROS } from "../../time.ts";
import { selectSource } from "../blocks/candidates.ts";
import { readWanted } from "../blocks/wanted.ts";
import { stepSql } from "./durations.ts";
import { clip } from "../../clip.ts";
import { type GroupSums, MOST_OF_KEY } from "./rollups/groups.ts";
import { hasSums, isSummed, sumRuns } from "./rollups/read.ts";
import type { SumsColumn } from "./rollups/store.ts";
import { selectionCondition } from "../selection.ts";

/** The most values of a property that one partition reports: those with the most runs. */
const MOST_KEYS = 200;
/** The expression of a property of `runs r`, and what the query joins for it. */
const PROPERTIES: Record<NonNullable<SeriesRequest["by"]>, { sql: string; join?: string }> = {
  status: { sql: "r.status" },
  name: { sql: "r.name" },
  run_type: { sql: "r.run_type" },
  model: { sql: "r.metadata ->> '$.ls_model_name'" },
  tag: { sql: "t.value", join: ", json_each(r.tags) t" },
};

/** Running runs have the step null. */
const STEP = `CASE WHEN r.end_time IS NOT NULL THEN ${stepSql("r.end_time - r.start_time")} END`;

/** The statistics of no runs. */
export const NO_SERIES: PartitionSeries = { times: [], keys: [] };

export function partitionSeries(
  sql: SqlStorage,
  identity: PartitionIdentity,
  selection: RunSelection,
  { interval, by }: SeriesRequest,
): PartitionSeries {
  if (by !== "tag" && interval % HOUR_MICROS === 0 && isSummed(selection) && hasSums(sql))
    return summedSeries(sql, identity, selection, interval, by);
  const condition = selectionCondition(sql, identity, selection);
  const source = selectSource(sql, readWanted(selection));
  const grouped = (key: string, join = "", isText = false) =>
    joinFigures(
      sql.exec<Row>(
        `SELECT ${key} AS key, ${STEP} AS step, count(*) AS run_count, sum(r.error IS NOT NULL) AS error_count,
           sum(r.end_time IS NULL) AS pending_count, sum(coalesce(r.prompt_tokens, 0)) AS prompt_tokens,
           sum(coalesce(r.completion_tokens, 0)) AS completion_tokens, sum(coalesce(r.total_tokens, 0)) AS total_tokens,
           sum(coalesce(r.total_cost, 0)) AS total_cost
         FROM ${source.from}${join} WHERE ${source.sql} AND ${condition.sql} GROUP BY 1, 2`,
        ...source.values,
        ...condition.values,
      ),
      isText,
    );
  const times = grouped(`r.start_time / ${interval} * ${interval}`);
  if (by === undefined) return { times, keys: [] };
  const { sql: key, join } = PROPERTIES[by];
  const keys = grouped(key, join, true).sort((a, b) => b.run_count - a.run_count);
  return { times, keys: keys.slice(0, MOST_KEYS) };
}

/** As above, from the sums of sealed blocks, which are by the hour and without tags. */
function summedSeries(
  sql: SqlStorage,
  identity: PartitionIdentity,
  selection: RunSelection,
  interval: number,
  by: SumsColumn | undefined,
): PartitionSeries {
  const times = new Map<number, Stats>();
  for (const { hour, ...sums } of sumRuns(sql, identity, selection, { hour: true })) {
    const key = (hour ?? 0) - ((hour ?? 0) % interval);
    const stats = statsOfSums(key, sums);
    const known = times.get(key);
    times.set(key, known ? addStats(known, stats) : stats);
  }
  const keys = by ? sumRuns(sql, identity, selection, { column: by }) : [];
  return {
    times: [...times.values()],
    keys: keys.flatMap(({ key, ...sums }) => (key === null ? [] : [statsOfSums(key, sums)])).slice(0, MOST_KEYS),
  };
}

function statsOfSums(key: string | number, { latencies: durations, ...sums }: GroupSums): Stats {
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
function joinFigures(rows: Iterable<Row>, isText: boolean): Stats[] {
  const found = new Map<string | number, Stats>();
  for (const { key: whole, step, ...sums } of rows) {
    if (whole === null) continue;
    const key = isText ? clip(String(whole), MOST_OF_KEY) : whole;
    const durations: Stats["durations"] = step === null ? {} : { [step]: sums.run_count };
    const known = found.get(key);
    found.set(key, known ? addStats(known, { key, ...sums, durations }) : { key, ...sums, durations });
  }
  return [...found.values()];
}

/** The statistics of the runs of both, under the key of the first. */
export function addStats(a: Stats, b: Stats): Stats {
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

function addCounts(a: Stats["durations"], b: Stats["durations"]): Stats["durations"] {
  const sums = { ...a };
  for (const [step, runs] of Object.entries(b)) sums[Number(step)] = (sums[Number(step)] ?? 0) + runs;
  return sums;
}
