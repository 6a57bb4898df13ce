/** Durations are counted in steps of e^(1/20), which is 5 %: so the counts of several days can be added. */

const STEPS = 20;

/** The step of a duration in microseconds. */
export function stepOf(micros: number): number {
  return Math.round(Math.log(Math.max(1, micros)) * STEPS);
}

/** The same in SQL, of an expression in microseconds. */
export function stepSql(micros: string): string {
  return `CAST(round(ln(max(1, ${micros})) * ${STEPS}) AS INTEGER)`;
}

/** The duration of a step, in seconds. */
export function secondsOf(step: number): number {
  return Math.exp(step / STEPS) / 1e6;
}
