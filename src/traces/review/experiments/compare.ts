/** One page of a comparison: the examples' bodies, and the outputs and feedback of the runs. */
import * as v from "valibot";
import { AnyObject, Count, Id, Time } from "../../../http/shapes.ts";
import { database } from "../../../db/client.ts";
import { parseJson } from "../../../lib/json.ts";
import { Problem } from "../../../lib/problem.ts";
import { placeholder } from "../../query/responses.ts";
import { type RunFindRequest, eachRun } from "../../query/find.ts";
import type { QueriedRun } from "../../types.ts";
import { isoFromMicros } from "../../time.ts";
import { blobKey } from "../examples/bodies.ts";
import { type ExampleRow, findExamples } from "../examples/store.ts";
import type { DatasetRow } from "../datasets/store.ts";

// Comparison of experiments example by example. The first experiment is the baseline of the others.

/** A root run of an experiment, as far as it is compared. Times are microseconds. */
export interface ComparedRun {
  id: string;
  exampleId: string;
  startTime: number;
  failed: boolean;
  latency: number | null;
  tokens: number;
  cost: number;
  /** The mean score of each key of feedback. */
  scores: Record<string, number>;
}

/** The runs of one experiment on one example. */
export interface ExperimentResult {
  runs: ComparedRun[];
  scores: Record<string, number>;
  failed: boolean;
  /** Keys of feedback whose mean score is better or worse than the baseline's. */
  improved: string[];
  regressed: string[];
  /** A run failed, and none of the baseline did. */
  newlyFailed: boolean;
}

export interface ComparisonRow {
  exampleId: string;
  /** In the order of the experiments. */
  results: ExperimentResult[];
}

export type ScoreChange = "improved" | "regressed";

/** A smaller difference of scores is none. The SDKs round scores to four decimals. */
const LEAST_DIFFERENCE = 1e-4;

/** Each example with the results of each experiment. `lowerIsBetter` has the keys whose lower scores are better. */
export function compareRuns(exampleIds: string[], runs: ComparedRun[][], lowerIsBetter: Set<string>): ComparisonRow[] {
  const byExample = runs.map((ofExperiment) => Map.groupBy(ofExperiment, ({ exampleId }) => exampleId));
  return exampleIds.map((exampleId) => {
    const results = byExample.map((groups) => toResult(groups.get(exampleId) ?? []));
    const [baseline, ...others] = results;
    if (baseline) for (const result of others) judge(result, baseline, lowerIsBetter);
    return { exampleId, results };
  });
}

function toResult(runs: ComparedRun[]): ExperimentResult {
  const failed = runs.some((run) => run.failed);
  return { runs, scores: meanScores(runs), failed, improved: [], regressed: [], newlyFailed: false };
}

/** The mean of each key over the runs that have it. */
export function meanScores(runs: Pick<ComparedRun, "scores">[]): Record<string, number> {
  const sums = new Map<string, { sum: number; n: number }>();
  for (const [key, score] of runs.flatMap(({ scores }) => Object.entries(scores))) {
    const { sum, n } = sums.get(key) ?? { sum: 0, n: 0 };
    sums.set(key, { sum: sum + score, n: n + 1 });
  }
  return Object.fromEntries([...sums].map(([key, { sum, n }]) => [key, sum / n]));
}

function judge(result: ExperimentResult, baseline: ExperimentResult, lowerIsBetter: Set<string>): void {
  if (result.runs.length === 0 || baseline.runs.length === 0) return;
  result.newlyFailed = result.failed && !baseline.failed;
  for (const [key, score] of Object.entries(result.scores)) {
    const before = Object.hasOwn(baseline.scores, key) ? baseline.scores[key] : undefined;
    if (before === undefined) continue;
    const gain = (score - before) * (lowerIsBetter.has(key) ? -1 : 1);
    if (gain >= LEAST_DIFFERENCE) result.improved.push(key);
    if (gain <= -LEAST_DIFFERENCE) result.regressed.push(key);
  }
}

/** Whether any experiment changed in this way from the baseline, in `key` or in any key. A new failure is a regression. */
export function hasChange({ results }: ComparisonRow, change: ScoreChange, key: string | undefined): boolean {
  return results.some((result) => {
    if (change === "regressed" && key === undefined && result.newlyFailed) return true;
    return key === undefined ? result[change].length > 0 : result[change].includes(key);
  });
}

/** Regressions first, then improvements, then the others; each in the order that they had. */
export function sortByChange(rows: ComparisonRow[], key: string | undefined): void {
  const rank = new Map(
    rows.map((row) => [row, hasChange(row, "regressed", key) ? 0 : hasChange(row, "improved", key) ? 1 : 2]),
  );
  rows.sort((a, b) => (rank.get(a) ?? 0) - (rank.get(b) ?? 0));
}

/** The mean score of each key of feedback. */
export const Scores = v.record(v.string(), v.number());
const ShownExample = v.object({
  id: Id,
  inputs: v.nullable(AnyObject),
  outputs: v.nullable(AnyObject),
  metadata: AnyObject,
});
const ShownRun = v.object({
  id: v.string(),
  trace_id: v.string(),
  status: v.string(),
  start_time: Time,
  latency: v.nullable(v.number()),
  outputs: v.unknown(),
  error: v.nullable(v.string()),
  total_tokens: Count,
  total_cost: v.nullable(v.number()),
  feedback_stats: AnyObject,
});
export const ComparedRow = v.object({
  example_id: v.string(),
  /** Null when it is no longer in the dataset. */
  example: v.nullable(ShownExample),
  results: v.array(
    v.object({
      experiment_id: Id,
      scores: Scores,
      improved: v.array(v.string()),
      regressed: v.array(v.string()),
      newly_failed: v.boolean(),
      runs: v.array(ShownRun),
    }),
  ),
});

/** The most bytes of the outputs of a page that are held at once. Outputs in R2 do not count. */
const PAGE_BYTES = 12 * 1024 * 1024;

/** The rows as the API shows them. `experimentIds` are in the order of each row's results. */
export async function pageRows(
  env: Env,
  dataset: DatasetRow,
  experimentIds: string[],
  rows: ComparisonRow[],
): Promise<object[]> {
  const exampleIds = rows.map(({ exampleId }) => exampleId);
  const [examples, runs] = await Promise.all([
    findExamples(database(env.DB), dataset.workspaceId, exampleIds),
    loadRuns(env, dataset.workspaceId, experimentIds, exampleIds),
  ]);
  const byId = new Map(examples.map((row) => [row.id, row]));
  return rows.map(({ exampleId, results }) => ({
    example_id: exampleId,
    example: toWireExample(byId.get(exampleId)),
    results: results.map((result, index) => ({
      experiment_id: experimentIds[index],
      scores: result.scores,
      improved: result.improved,
      regressed: result.regressed,
      newly_failed: result.newlyFailed,
      runs: result.runs.flatMap(({ id }) => {
        const run = runs.get(id);
        return run ? [toWireRun(run)] : [];
      }),
    })),
  }));
}

async function loadRuns(env: Env, workspaceId: string, projectIds: string[], referenceExampleIds: string[]) {
  const runs = new Map<string, QueriedRun>();
  if (referenceExampleIds.length === 0) return runs;
  const selection = { referenceExampleIds, isRoot: true };
  const find: Omit<RunFindRequest, "after"> = {
    projectIds,
    selection,
    order: "asc",
    limit: 1000,
    payloads: ["outputs", "error"],
  };
  let bytes = 0;
  for await (const run of eachRun(env, workspaceId, find)) {
    runs.set(run.id, run);
    bytes += (run.outputs?.length ?? 0) + (run.error?.length ?? 0);
    if (bytes > PAGE_BYTES) throw new Problem(413, "The outputs are too large for one answer. Use a smaller limit.");
  }
  return runs;
}

/** Null for an example that is no longer in the dataset. */
function toWireExample(row: ExampleRow | undefined): object | null {
  if (!row) return null;
  const body = (name: "inputs" | "outputs"): unknown => {
    const hash = row[`${name}Hash`];
    const text = hash ? placeholder(name, blobKey(row, hash)) : row[name];
    return text === null ? null : parseJson(text);
  };
  return { id: row.id, inputs: body("inputs"), outputs: body("outputs"), metadata: row.metadata };
}

function toWireRun(run: QueriedRun): object {
  return {
    id: run.id,
    trace_id: run.trace_id,
    status: run.status,
    start_time: isoFromMicros(run.start_time),
    latency: run.end_time === null ? null : Math.max(0, run.end_time - run.start_time) / 1e6,
    outputs: run.outputs === null ? null : parseJson(run.outputs),
    error: run.error,
    total_tokens: run.total_tokens ?? 0,
    total_cost: run.total_cost,
    feedback_stats: run.feedback_stats === null ? {} : parseJson(run.feedback_stats),
  };
}
