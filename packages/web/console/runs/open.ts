/** Open runs: which of them run, which wait, and what started them. */

export interface OpenRun {
  run_id: string;
  thread_id: string;
  assistant_id: string;
  status: "running" | "pending";
  created_at: string;
  updated_at: string;
  metadata: Record<string, unknown>;
  /** How often it was started: more than once after its process stopped. */
  attempt: number;
  /** Only on a run that waits for rules: which, and why. */
  waiting_for?: { rule: string; key: string; reason: string }[];
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

/** The cron that started a run, by its id; undefined for others. */
export function findCron({ metadata }: OpenRun): string | undefined {
  return typeof metadata.cron_id === "string" ? metadata.cron_id : undefined;
}

const REASONS: Record<string, string> = {
  paused: "paused",
  concurrency: "no free slot",
  starts_per_minute: "starts a minute",
  tokens_per_minute: "tokens a minute",
  singleton: "another run is open",
  debounce_seconds: "debounce",
};

/** "per-user · ada: no free slot". */
export const waitsForText = ({ waiting_for }: Required<Pick<OpenRun, "waiting_for">>): string =>
  waiting_for
    .map(({ rule, key, reason }) => `${key === "" ? rule : `${rule} · ${key}`}: ${REASONS[reason] ?? reason}`)
    .join(", ") || "its turn";

/** The reason why a queued run waits: rules, its time, or earlier runs of its thread. */
export function describeWait({ waiting_for, due }: Split["queued"][number]): string {
  if (waiting_for) return waitsForText({ waiting_for });
  return due ? "the run before it" : "its time";
}
