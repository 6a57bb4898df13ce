/** Statistics over projects and days by time and by a property, merged from what each partition counts. */
import * as v from "valibot";
import { Count, Time } from "../../http/shapes.ts";
import { database } from "../../db/client.ts";
import { CONNECTIONS, inParallel } from "../../lib/parallel.ts";
import { stepSeconds } from "../partition/stats/durations.ts";
import { addStats } from "../partition/stats/series.ts";
import type { RunSelection, SeriesRequest } from "../rpc.ts";
import { tracePartition } from "../stub.ts";
import type { Stats } from "../types.ts";
import { listDays } from "../projects/partitions.ts";
import { toDay, isoFromMicros } from "../time.ts";
import { roundCost } from "../../limits/prices/price-list.ts";
import { acrossMidnight } from "./midnight.ts";

/** The most partitions, that is projects times days, of one answer. */
const MOST_PARTITIONS = 500;

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
export const Series = v.object({
  start_time: Time,
  end_time: Time,
  complete: v.boolean(),
  total: Figures,
  buckets: v.array(v.object({ start_time: Time, ...Figures.entries })),
  groups: v.nullable(v.array(v.object({ key: v.string(), ...Figures.entries }))),
});

interface Wanted extends SeriesRequest {
  /** Empty: every project of the workspace. */
  projectIds: string[];
  selection: RunSelection & { startTime: number; endTime: number };
  mostGroups: number;
}

/** Every interval of the window has a bucket, also one without runs. */
export async function runSeries(
  env: Env,
  workspaceId: string,
  { projectIds, selection, mostGroups, ...request }: Wanted,
): Promise<v.InferOutput<typeof Series>> {
  const { startTime, endTime } = selection;
  const days = { first: toDay(startTime), last: toDay(endTime - 1), most: MOST_PARTITIONS + 1 };
  const found = await listDays(database(env.DB), workspaceId, projectIds, days);
  const places = found.slice(0, MOST_PARTITIONS);
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
    complete: found.length <= MOST_PARTITIONS,
    total: toWire([...times.values()].reduce(addStats, noRuns("total"))),
    buckets,
    groups:
      by === undefined
        ? null
        : groups.slice(0, mostGroups).map((stats) => ({ key: String(stats.key), ...toWire(stats) })),
  };
}

function mergeSeries(stats: Stats[]): Map<string | number, Stats> {
  const found = new Map<string | number, Stats>();
  for (const one of stats) {
    const known = found.get(one.key);
    found.set(one.key, known ? addStats(known, one) : one);
  }
  return found;
}

const noRuns = (key: string | number): Stats => ({
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

function toWire({ key: _key, durations, ...sums }: Stats): v.InferOutput<typeof Figures> {
  return {
    ...sums,
    total_cost: roundCost(sums.total_cost),
    latency_p50: computeQuantile(durations, 0.5),
    latency_p99: computeQuantile(durations, 0.99),
  };
}

/** The duration, in seconds, that this share of the runs does not exceed, to 2.5 %. Null without an ended run. */
function computeQuantile(durations: Stats["durations"], share: number): number | null {
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
