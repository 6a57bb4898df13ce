/** When a cron fires: five fields, read in an IANA time zone (daylight saving included). Times are milliseconds. */
import { Cron } from "croner";

/** The greatest age of a missed due time that still fires, milliseconds. */
const CATCH_UP_MS = 3_600_000;

export interface Schedule {
  schedule: string;
  timezone: string | null;
  /** No firing after this moment. */
  endTime: number | null;
}

/** The first due time after `after`; null when there is none. Throws on a schedule or a time zone that is not one. */
export function nextDue({ schedule, timezone, endTime }: Schedule, after: number): number | null {
  const next = parseSchedule(schedule, timezone).nextRun(new Date(after))?.getTime() ?? null;
  return next === null || (endTime !== null && next > endTime) ? null : next;
}

/**
 * The due times to fire at `now`, when `first` is the oldest one not fired yet: all of the last hour, and in any case the
 * latest. Older ones are skipped, so that a long outage does not cause a burst of runs.
 */
export function dueTimes(schedule: Schedule, first: number, now: number): number[] {
  if (first > now) return [];
  const from = Math.max(first, now - CATCH_UP_MS);
  const times: number[] = [];
  for (let due = first >= from ? first : nextDue(schedule, from - 1); due !== null && due <= now;) {
    times.push(due);
    due = nextDue(schedule, due);
  }
  return times.length > 0 ? times : [latestDue(schedule, first, now)];
}

function latestDue({ schedule, timezone, endTime }: Schedule, first: number, now: number): number {
  const end = Math.min(now, endTime ?? now);
  const [latest] = parseSchedule(schedule, timezone).previousRuns(1, new Date(end + 1));
  return Math.max(first, latest?.getTime() ?? first);
}

function parseSchedule(schedule: string, timezone: string | null): Cron {
  return new Cron(schedule, { timezone: timezone ?? "UTC", mode: "5-part", paused: true });
}
