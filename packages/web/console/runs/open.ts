/** Open runs: which of them run, which wait, and what started them. */

export interface OpenRun {
  run_id: string;
  thread_id: string;
  assistant_id: string;
  status: "running" | "pending";
  created_at: string;
  updated_at: string;
  metadata: Record<string, unknown>;
}

/** Runs under way, and those that wait with their place in the queue of their thread. */
export interface Split {
  running: OpenRun[];
  queued: (OpenRun & { place: number; due: boolean })[];
}

/**
 * Splits open runs, given the oldest first. `place` counts from 1 among the runs that wait on one thread. `due` is false for a run
 * whose time has not come (`after_seconds`).
 */
export function splitRuns(runs: OpenRun[], now: number): Split {
  const places = new Map<string, number>();
  const split: Split = { running: [], queued: [] };
  for (const run of runs) {
    if (run.status === "running") split.running.push(run);
    else {
      const place = (places.get(run.thread_id) ?? 0) + 1;
      places.set(run.thread_id, place);
      split.queued.push({ ...run, place, due: Date.parse(run.created_at) <= now });
    }
  }
  return split;
}

/** What started a run, when that was no person: the id of a cron. */
export function findCron({ metadata }: OpenRun): string | undefined {
  return typeof metadata.cron_id === "string" ? metadata.cron_id : undefined;
}
