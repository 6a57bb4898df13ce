/**
 * How long this server's own runs of graphs took, as histograms over the partition's day. They are built on request
 * from the traces that arrived since the last request, so that they cost a run nothing.
 */
import { joinPayloads, payloadSql } from "../store/payloads.ts";
import { BOUNDS, type Histogram, type RunTimes, type DurationCounts } from "../../types.ts";
import { readMeta, writeMeta } from "../store/meta.ts";

/** The most trace runs read in one call; the rest is counted with the next call. */
const AT_ONCE = 20_000;

/** What the tracer of a graph's run says of it, milliseconds (see `RunFacts` in runtime/tracer.ts). */
interface Facts {
  status?: unknown;
  queued_ms?: unknown;
  first_event_ms?: unknown;
  took_ms?: unknown;
}

/** The day's histograms, updated with the traces since the last request. */
export function runTimes(sql: SqlStorage): RunTimes {
  const { through, times } = readMeta(sql, "run_times") ?? { through: 0, times: noRunTimes() };
  const fresh = sql
    .exec<{ n: number; facts: string | null }>(
      // A payload too large for its row is truncated, and no longer valid JSON.
      `SELECT n, CASE WHEN json_valid(extra) AND json_extract(extra, '$.runtime.library') = 'weir'
       THEN json_extract(extra, '$.runtime.run') END AS facts
       FROM (SELECT r.n, CASE WHEN r.is_root = 1 THEN ${payloadSql("extra")} END AS extra
         FROM runs r ${joinPayloads()} WHERE r.n > ? ORDER BY r.n LIMIT ${AT_ONCE})`,
      through,
    )
    .toArray();
  const last = fresh.at(-1);
  if (!last) return times;
  for (const { facts } of fresh) if (facts?.startsWith("{")) count(times, JSON.parse(facts) as Facts);
  writeMeta(sql, "run_times", { through: last.n, times });
  return times;
}

export function noRunTimes(): RunTimes {
  const empty = (): Histogram => ({ buckets: BOUNDS.map(() => 0), count: 0, sum: 0 });
  return { statuses: {}, duration: empty(), firstEvent: empty(), wait: empty() };
}

/** The histograms of two shards as one. */
export function sumOfRunTimes(a: RunTimes, b: RunTimes): RunTimes {
  const statuses = { ...a.statuses };
  for (const [status, count] of Object.entries(b.statuses)) statuses[status] = (statuses[status] ?? 0) + count;
  const sum = (x: Histogram, y: Histogram): Histogram => ({
    buckets: x.buckets.map((n, i) => n + (y.buckets[i] ?? 0)),
    count: x.count + y.count,
    sum: x.sum + y.sum,
  });
  return {
    statuses,
    duration: sum(a.duration, b.duration),
    firstEvent: sum(a.firstEvent, b.firstEvent),
    wait: sum(a.wait, b.wait),
  };
}

function count(times: RunTimes, { status, queued_ms, first_event_ms, took_ms }: Facts): void {
  if (typeof status !== "string" || !/^\w{1,20}$/.test(status)) return;
  times.statuses[status] = (times.statuses[status] ?? 0) + 1;
  add(times.duration, took_ms);
  add(times.firstEvent, first_event_ms);
  add(times.wait, queued_ms);
}

/** A bucket counts the smaller ones too. */
function add(histogram: Histogram, ms: unknown): void {
  if (typeof ms !== "number" || !(ms >= 0)) return;
  const seconds = ms / 1000;
  histogram.count += 1;
  histogram.sum += seconds;
  histogram.buckets = histogram.buckets.map((n, i) => n + (seconds <= (BOUNDS[i] ?? 0) ? 1 : 0));
}

// Durations are counted in steps of e^(1/20), which is 5 %: so the counts of several days can be added.

const STEPS = 20;
/** The most different durations that a `DurationCounter` keeps as they are. */
const MAX_EXACT = 2_000;

/** The step of a duration in microseconds. */
export function toStep(micros: number): number {
  return Math.round(Math.log(Math.max(1, micros)) * STEPS);
}

/** The same in SQL, of an expression in microseconds. */
export function stepSql(micros: string): string {
  return `CAST(round(ln(max(1, ${micros})) * ${STEPS}) AS INTEGER)`;
}

/** The duration of a step, in microseconds. */
function stepMicros(step: number): number {
  return Math.exp(step / STEPS);
}

export function stepSeconds(step: number): number {
  return stepMicros(step) / 1e6;
}

/** How many runs took each step, as durations. */
export function readCounts(sketch: Record<string, number>): DurationCounts {
  return new Map(Object.entries(sketch).map(([step, runs]) => [stepMicros(Number(step)), runs]));
}

/**
 * Counts durations of runs. Up to `mostExact` different ones are exact. When there are more, all are rounded to steps, at most
 * 2.5 % off. A rounded duration stays as it is when it is rounded again, so counts can be added in any order.
 */
export class DurationCounter {
  #counts: DurationCounts = new Map();
  #inSteps = false;

  constructor(private readonly mostExact = MAX_EXACT) {}

  add(micros: number, runs = 1): void {
    const own = this.#inSteps ? stepMicros(toStep(micros)) : micros;
    this.#counts.set(own, (this.#counts.get(own) ?? 0) + runs);
    if (this.#inSteps || this.#counts.size <= this.mostExact) return;
    const exact = this.#counts;
    this.#inSteps = true;
    this.#counts = new Map();
    for (const [other, count] of exact) this.add(other, count);
  }

  addAll(counts: DurationCounts): void {
    for (const [micros, runs] of counts) this.add(micros, runs);
  }

  counts(): DurationCounts {
    return this.#counts;
  }

  /** The duration, in seconds, that this share of the runs does not exceed (nearest rank). Null without a run. */
  secondsAt(share: number): number | null {
    const sorted = [...this.#counts].sort(([a], [b]) => a - b);
    const count = sorted.reduce((sum, [, runs]) => sum + runs, 0);
    let left = Math.min(count - 1, Math.floor(count * share));
    for (const [micros, runs] of sorted) {
      if (left < runs) return Number((micros / 1e6).toFixed(6));
      left -= runs;
    }
    return null;
  }
}
