/** Statistics over projects and days by time and by a property, merged from what each partition counts. */
import * as v from "valibot";
import { Count, Time, AnyObject } from "../../http/shapes.ts";
import { database } from "../../db/client.ts";
import { CONNECTIONS, inParallel } from "../../lib/parallel.ts";
import { stepSeconds, DurationCounter } from "../partition/stats/durations.ts";
import { addStats } from "../partition/stats/series.ts";
import type { RunSelection, SeriesRequest, TracePartitionRpc } from "../rpc.ts";
import { tracePartition } from "../stub.ts";
import type { TraceStats, PartitionLocation, FeedbackSum, PartitionStats } from "../types.ts";
import { listDays } from "../projects/partitions.ts";
import { toDay, isoFromMicros } from "../time.ts";
import { roundCost } from "../../limits/prices/price-list.ts";
import { acrossMidnight, callsEach } from "./midnight.ts";
import { resolveScope } from "./scope.ts";
import { addSums, showSum } from "../review/feedback/sums.ts";

/** The most partitions, that is projects times days, of one answer. */
const MAX_PARTITIONS = 500;

const Figures = v.object({
  run_count: Count,
  error_count: Count,
  pending_count: Count,
  prompt_tokens: Count,
  completion_tokens: Count,
  total_tokens: Count,
  total_cost: v.number(),
  latency_p50: v.nullable(v.number()),
  latency_p99: v.nullable(v.number()),
});
/** What `/runs/stats/series` answers. */
export const RunSeries = v.object({
  start_time: Time,
  end_time: Time,
  complete: v.boolean(),
  total: Figures,
  buckets: v.array(v.object({ start_time: Time, ...Figures.entries })),
  groups: v.nullable(v.array(v.object({ key: v.string(), ...Figures.entries }))),
});

interface SeriesQuery extends SeriesRequest {
  /** Empty: every project of the workspace. */
  projectIds: string[];
  selection: RunSelection & { startTime: number; endTime: number };
  mostGroups: number;
}

/** Every interval of the window has a bucket, also one without runs. */
export async function runSeries(
  env: Env,
  workspaceId: string,
  { projectIds, selection, mostGroups, ...request }: SeriesQuery,
): Promise<v.InferOutput<typeof RunSeries>> {
  const { startTime, endTime } = selection;
  const days = { first: toDay(startTime), last: toDay(endTime - 1), most: MAX_PARTITIONS + 1 };
  const found = await listDays(database(env.DB), workspaceId, projectIds, days);
  const places = found.slice(0, MAX_PARTITIONS);
  const parts = await inParallel(places, CONNECTIONS, async (place) => {
    const own = await acrossMidnight(env, workspaceId, place, selection);
    return tracePartition(env, workspaceId, place).series(own, request);
  });
  const times = mergeSeries(parts.flatMap((part) => part.times));
  const keys = mergeSeries(parts.flatMap((part) => part.keys));
  const groups = [...keys.values()].sort((a, b) => b.run_count - a.run_count);
  const { interval, by } = request;
  const buckets = [];
  for (let at = Math.floor(startTime / interval) * interval; at < endTime; at += interval)
    buckets.push({ start_time: isoFromMicros(at), ...toWire(times.get(at) ?? noRuns(at)) });
  return {
    start_time: isoFromMicros(startTime),
    end_time: isoFromMicros(endTime),
    /** False when the window has more projects and days than one answer covers: the newest are counted. */
    complete: found.length <= MAX_PARTITIONS,
    total: toWire([...times.values()].reduce(addStats, noRuns("total"))),
    buckets,
    groups:
      by === undefined
        ? null
        : groups.slice(0, mostGroups).map((stats) => ({ key: String(stats.key), ...toWire(stats) })),
  };
}

function mergeSeries(stats: TraceStats[]): Map<string | number, TraceStats> {
  const found = new Map<string | number, TraceStats>();
  for (const one of stats) {
    const known = found.get(one.key);
    found.set(one.key, known ? addStats(known, one) : one);
  }
  return found;
}

const noRuns = (key: string | number): TraceStats => ({
  key,
  run_count: 0,
  error_count: 0,
  pending_count: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  total_tokens: 0,
  total_cost: 0,
  durations: {},
});

function toWire({ key: _key, durations, ...sums }: TraceStats): v.InferOutput<typeof Figures> {
  return {
    ...sums,
    total_cost: roundCost(sums.total_cost),
    latency_p50: computeQuantile(durations, 0.5),
    latency_p99: computeQuantile(durations, 0.99),
  };
}

/** The duration, in seconds, that this share of the runs does not exceed, to 2.5 %. Null without an ended run. */
function computeQuantile(durations: TraceStats["durations"], share: number): number | null {
  const sorted = Object.entries(durations)
    .map(([step, runs]): [number, number] => [Number(step), runs])
    .sort(([a], [b]) => a - b);
  const count = sorted.reduce((sum, [, n]) => sum + n, 0);
  let left = Math.min(count - 1, Math.floor(count * share));
  for (const [step, n] of sorted) {
    if (left < n) return Number(stepSeconds(step).toPrecision(4));
    left -= n;
  }
  return null;
}

// Figures over projects, days and shards: what each partition counts, gathered.

/** A request makes at most 10,000 calls. Half of them are for partitions, because a call can be repeated. */
const MAX_PARTITIONS_OF_QUERY = 5_000;

/** How many partitions a request may still ask, for all of its statistics together. */
export interface QueryBudget {
  partitions: number;
}

export const newQueryBudget = (): QueryBudget => ({ partitions: MAX_PARTITIONS_OF_QUERY });

/**
 * Gives what the partitions of these projects answer to `add`, the newest days first. False when there are more partitions than
 * the budget has. Then only the newest answer.
 */
export async function askPartitions<T>(
  env: Env,
  workspaceId: string,
  { projectIds, selection, budget }: { projectIds: string[]; selection: RunSelection; budget: QueryBudget },
  ask: (partition: TracePartitionRpc, selection: RunSelection, location: PartitionLocation) => Promise<T>,
  add: (answer: T) => void,
): Promise<boolean> {
  const scope = await resolveScope(env, database(env.DB), workspaceId, projectIds, selection, "desc");
  const calls = callsEach(selection);
  const locations = scope.slice(0, Math.floor(budget.partitions / calls));
  budget.partitions -= locations.length * calls;
  // In batches, so that the answers of the newest days are added first and few wait.
  for (let at = 0; at < locations.length; at += CONNECTIONS) {
    const answers = await inParallel(locations.slice(at, at + CONNECTIONS), CONNECTIONS, async (location) => {
      const own = await acrossMidnight(env, workspaceId, location, selection);
      return ask(tracePartition(env, workspaceId, location), own, location);
    });
    answers.forEach(add);
  }
  return locations.length === scope.length;
}

// Statistics over projects and days, merged from what each partition counts.

/**
 * Figures as the platform's `/runs/stats` and `/sessions?include_stats=true` give them. `complete` is false when they are of the
 * newest days only.
 */
export async function projectStats(
  env: Env,
  workspaceId: string,
  projectIds: string[],
  selection: RunSelection,
  budget: QueryBudget = newQueryBudget(),
) {
  const totals = new StatsTotals();
  const complete = await askPartitions(
    env,
    workspaceId,
    { projectIds, selection, budget },
    (partition, own) => partition.stats(own),
    (part) => totals.add(part),
  );
  return { ...totals.show(), complete };
}

const SUMMED = [
  "run_count",
  "error_count",
  "streaming_count",
  "total_tokens",
  "prompt_tokens",
  "completion_tokens",
  "total_cost",
  "prompt_cost",
  "completion_cost",
] as const;

const seconds = v.nullable(v.number());
const dollars = v.nullable(v.union([v.string(), v.number()]));
/** Statistics of runs in answers. */
export const RunStats = v.object({
  run_count: Count,
  latency_p50: seconds,
  latency_p99: seconds,
  first_token_p50: seconds,
  first_token_p99: seconds,
  total_tokens: Count,
  prompt_tokens: Count,
  completion_tokens: Count,
  total_cost: dollars,
  prompt_cost: dollars,
  completion_cost: dollars,
  last_run_start_time: v.nullable(Time),
  feedback_stats: v.record(v.string(), AnyObject),
  session_feedback_stats: v.record(v.string(), AnyObject),
  run_facets: v.array(AnyObject),
  error_rate: v.number(),
  streaming_rate: v.number(),
});

/** The statistics of several partitions, added up. */
export class StatsTotals {
  readonly #sums = new Map<(typeof SUMMED)[number], number>();
  readonly #latencies = new DurationCounter();
  readonly #firstTokens = new DurationCounter();
  readonly #feedback = new Map<string, FeedbackSum>();
  #last = 0;

  add(part: PartitionStats): void {
    for (const name of SUMMED) this.#sums.set(name, this.#sum(name) + part[name]);
    this.#latencies.addAll(part.latencies);
    this.#firstTokens.addAll(part.first_tokens);
    this.#last = Math.max(this.#last, part.last_run_start_time ?? 0);
    for (const [key, sum] of Object.entries(part.feedback)) {
      const known = this.#feedback.get(key);
      this.#feedback.set(key, known ? addSums(known, sum) : sum);
    }
  }

  show() {
    const run_count = this.#sum("run_count");
    const rate = (count: number) => (run_count === 0 ? 0 : count / run_count);
    return {
      run_count,
      latency_p50: this.#latencies.secondsAt(0.5),
      latency_p99: this.#latencies.secondsAt(0.99),
      first_token_p50: this.#firstTokens.secondsAt(0.5),
      first_token_p99: this.#firstTokens.secondsAt(0.99),
      total_tokens: this.#sum("total_tokens"),
      prompt_tokens: this.#sum("prompt_tokens"),
      completion_tokens: this.#sum("completion_tokens"),
      total_cost: this.#dollars("total_cost"),
      prompt_cost: this.#dollars("prompt_cost"),
      completion_cost: this.#dollars("completion_cost"),
      last_run_start_time: this.#last === 0 ? null : isoFromMicros(this.#last),
      feedback_stats: Object.fromEntries([...this.#feedback].map(([key, sum]) => [key, showSum(sum)])),
      session_feedback_stats: {},
      run_facets: [],
      error_rate: rate(this.#sum("error_count")),
      streaming_rate: rate(this.#sum("streaming_count")),
    };
  }

  #dollars(name: "total_cost" | "prompt_cost" | "completion_cost"): string {
    return String(roundCost(this.#sum(name)));
  }

  #sum(name: (typeof SUMMED)[number]): number {
    return this.#sums.get(name) ?? 0;
  }
}
