/** Durations are counted in steps of e^(1/20), which is 5 %: so the counts of several days can be added. */
import type { DurationCounts } from "../../types.ts";

const STEPS = 20;
/** The most different durations that a `DurationCounter` keeps as they are. */
const MOST_EXACT = 2_000;

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

  constructor(private readonly mostExact = MOST_EXACT) {}

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
