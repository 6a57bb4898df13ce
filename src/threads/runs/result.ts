/** What a client that waits for a run gets. */
import type { ThreadContext } from "../context.ts";
import type { Outcome } from "../run.ts";

/**
 * The body of `/wait` and `/join` as JSON: the run's final values, with `__interrupt__` where it paused, or `__error__`. The
 * state is long, so it is not read to be written again.
 */
export function readResult({ record, values }: ThreadContext, outcome: Outcome | undefined): string {
  if (!outcome) return "{}";
  const { interrupts = {}, error } = outcome;
  if (error) return JSON.stringify({ __error__: error });
  // A run that was stopped before its graph gave a state leaves that of the thread.
  const state = values.flatAll(outcome.values ?? record?.values ?? {});
  const raised = Object.values(interrupts).flat();
  if (raised.length === 0) return state;
  return `${state.slice(0, -1)}${state === "{}" ? "" : ","}"__interrupt__":${JSON.stringify(raised)}}`;
}
