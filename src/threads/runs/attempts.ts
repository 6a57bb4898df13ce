/**
 * How often and how long a run is tried. Every deploy restarts all objects, so an attempt counts against the limit only
 * when the run has finished no task since the one before: a long run survives many deploys, and a run that exceeds the
 * memory or CPU of its isolate is ended instead of crashing it again.
 */
import type { PriorAttempt } from "../log/emit.ts";
import type { RunOutcome } from "../run.ts";
import type { RunError } from "../types.ts";

/** Seconds a run may take over all its attempts, and attempts without progress, when the deployment does not say. */
const RUN_TIMEOUT = 3_600;
const MAX_ATTEMPTS = 3;
/** Milliseconds that a timer takes at most. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Whether a run whose process stopped has no attempts left. */
export function attemptsSpent(env: Env, outcome: RunOutcome, prior: PriorAttempt): boolean {
  return countDeaths(outcome, prior) >= Number(env.RUN_MAX_ATTEMPTS ?? MAX_ATTEMPTS);
}

/** The part of the outcome for the attempt that begins. `prior` is set from the second attempt on. */
export function countAttempt(
  outcome: RunOutcome,
  prior?: PriorAttempt,
): Pick<RunOutcome, "attempt" | "deaths" | "finished"> {
  const attempt = outcome.attempt + 1;
  return prior ? { attempt, deaths: countDeaths(outcome, prior), finished: prior.finished.size } : { attempt };
}

/** Milliseconds that the run has left; they count from its first attempt. */
export function timeLeft(env: Env, { began = Date.now() }: RunOutcome): number {
  const seconds = Number(env.RUN_TIMEOUT_SECONDS ?? RUN_TIMEOUT);
  return Math.min(Math.max(0, began + seconds * 1000 - Date.now()), MAX_TIMER_MS);
}

/** The error of a run that is not started again. */
export function diedError(outcome: RunOutcome, prior: PriorAttempt): RunError {
  const names = [...new Set(prior.inFlight)].map((name) => `"${name}"`).join(", ");
  const where = names ? `while ${names} was running` : "before a node began";
  return {
    error: "RunAttemptsExceeded",
    message: `The server process stopped ${countDeaths(outcome, prior)} times in this run ${where}, most likely out of memory or CPU time. The run is not started again.`,
  };
}

/** How often in a row the process has stopped without another finished task of the run, including the last time. */
function countDeaths({ finished = -1, deaths = 0 }: RunOutcome, prior: PriorAttempt): number {
  return prior.finished.size > finished ? 1 : deaths + 1;
}
