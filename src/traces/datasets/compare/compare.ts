/** Comparison of experiments example by example. The first experiment is the baseline of the others. */

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
export interface Result {
  runs: ComparedRun[];
  scores: Record<string, number>;
  failed: boolean;
  /** Keys of feedback whose mean score is better or worse than the baseline's. */
  improved: string[];
  regressed: string[];
  /** A run failed, and none of the baseline did. */
  newlyFailed: boolean;
}

export interface Row {
  exampleId: string;
  /** In the order of the experiments. */
  results: Result[];
}

export type Change = "improved" | "regressed";

/** A smaller difference of scores is none. The SDKs round scores to four decimals. */
const LEAST_DIFFERENCE = 1e-4;

/** Each example with the results of each experiment. `lowerIsBetter` has the keys whose lower scores are better. */
export function compareRuns(exampleIds: string[], runs: ComparedRun[][], lowerIsBetter: Set<string>): Row[] {
  const byExample = runs.map((ofExperiment) => Map.groupBy(ofExperiment, ({ exampleId }) => exampleId));
  return exampleIds.map((exampleId) => {
    const results = byExample.map((groups) => toResult(groups.get(exampleId) ?? []));
    const [baseline, ...others] = results;
    if (baseline) for (const result of others) judge(result, baseline, lowerIsBetter);
    return { exampleId, results };
  });
}

function toResult(runs: ComparedRun[]): Result {
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

function judge(result: Result, baseline: Result, lowerIsBetter: Set<string>): void {
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
export function hasChange({ results }: Row, change: Change, key: string | undefined): boolean {
  return results.some((result) => {
    if (change === "regressed" && key === undefined && result.newlyFailed) return true;
    return key === undefined ? result[change].length > 0 : result[change].includes(key);
  });
}

/** Regressions first, then improvements, then the others; each in the order that they had. */
export function sortByChange(rows: Row[], key: string | undefined): void {
  const rank = new Map(
    rows.map((row) => [row, hasChange(row, "regressed", key) ? 0 : hasChange(row, "improved", key) ? 1 : 2]),
  );
  rows.sort((a, b) => (rank.get(a) ?? 0) - (rank.get(b) ?? 0));
}
