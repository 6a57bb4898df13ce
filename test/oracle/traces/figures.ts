/** Statistics of the model: each is a pass over an array. Percentiles are exact. */
import type { Project } from "./model.ts";
import type { Run } from "./run.ts";

const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0);

/** The nearest rank. */
export function percentile(values: readonly number[], share: number): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null;
}

const listLatencies = (runs: readonly Run[]) => runs.flatMap(({ latency }) => (latency === null ? [] : [latency]));

/** Tokens of runs and of what is below them on their days: each call counts once. */
function sumSpent(runs: readonly Run[], all: readonly Run[], kind: "prompt" | "completion"): number {
  const days = new Map(runs.map(({ id, day }) => [id, day]));
  const spenders = all.filter(({ runType }) => runType === "llm");
  const counted = spenders.filter(({ path, day }) => path.some((id) => days.get(id) === day));
  return sum(counted.map(({ tokens }) => tokens[kind]));
}

/** What `/runs/stats/series` says of a set of runs. `all`: those whose calls can count. */
export function computeFigures(runs: readonly Run[], all: readonly Run[]) {
  const [prompt, completion] = [sumSpent(runs, all, "prompt"), sumSpent(runs, all, "completion")];
  return {
    run_count: runs.length,
    error_count: runs.filter(({ status }) => status === "error").length,
    pending_count: runs.filter(({ end }) => end === null).length,
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    latency_p50: percentile(listLatencies(runs), 0.5),
    latency_p99: percentile(listLatencies(runs), 0.99),
  };
}

/** What `/runs/stats` says. */
export function computeStats(project: Project, runs: readonly Run[]) {
  const figures = computeFigures(runs, project.runs);
  const keys = new Set(runs.flatMap(({ id }) => project.listFeedback(id).map(({ key }) => key)));
  const feedback = [...keys].sort().map((key) => {
    const given = runs.flatMap(({ id }) => project.listFeedback(id).filter((one) => one.key === key));
    return [key, feedbackFigures(given.map(({ score }) => score))] as const;
  });
  return {
    run_count: figures.run_count,
    error_rate: figures.run_count === 0 ? 0 : figures.error_count / figures.run_count,
    prompt_tokens: figures.prompt_tokens,
    completion_tokens: figures.completion_tokens,
    total_tokens: figures.total_tokens,
    latency_p50: figures.latency_p50,
    latency_p99: figures.latency_p99,
    last_run_start_time: runs[0]?.start ?? null,
    feedback: Object.fromEntries(feedback),
  };
}

/** The number of feedback with a key, and the mean of its scores. */
export function feedbackFigures(scores: readonly (number | null)[]): { n: number; avg: number | null } {
  const given = scores.filter((score) => score !== null);
  return { n: scores.length, avg: given.length === 0 ? null : sum(given) / given.length };
}

/** Characters of a value by which series tell groups apart. */
const KEY = 200;
const toKey = (text: string) => Array.from(text.toWellFormed()).slice(0, KEY).join("");

/** Runs by a property; a run counts for each of its tags. */
export function groupRuns(runs: readonly Run[], by: "name" | "status" | "run_type" | "tag"): Map<string, Run[]> {
  const listKeys = (run: Run) =>
    by === "tag" ? run.tags : [by === "name" ? run.name : by === "status" ? run.status : run.runType];
  const pairs = runs.flatMap((run) => listKeys(run).map((key) => ({ key: toKey(key), run })));
  return new Map([...Map.groupBy(pairs, ({ key }) => key)].map(([key, own]) => [key, own.map(({ run }) => run)]));
}

/** Threads: root runs that share a thread id, the newest turn first. */
export function groupThreads(runs: readonly Run[]) {
  const roots = runs.filter(({ isRoot, threadId }) => isRoot && threadId !== null);
  return [...Map.groupBy(roots, ({ threadId }) => threadId)].map(([thread, turns]) => ({
    thread_id: thread,
    count: turns.length,
    max_start_time: Math.max(...turns.map(({ start }) => start)),
    min_start_time: Math.min(...turns.map(({ start }) => start)),
    latency_p50: percentile(listLatencies(turns), 0.5),
  }));
}
