/** The order of a thread's open runs: the running one, then those that wait, by when they are due. */
import type { StoredRun } from "../run.ts";

/** Open runs in the order in which they run. The sort is stable: of runs that are due together, the earlier one is first. */
export function orderRuns(open: readonly StoredRun[]): StoredRun[] {
  return open.toSorted((a, b) => place(a) - place(b) || a.created - b.created);
}

/** Whether the run is running, or waits and may begin. A run that is not due yet (`after_seconds`) is not in flight. */
export function isInFlight({ status, due }: StoredRun, now = Date.now()): boolean {
  return status === "running" || due <= now;
}

const place = ({ status, due }: StoredRun): number => (status === "running" ? 0 : due);
