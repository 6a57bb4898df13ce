/** Figures of usage: sums by day and by project. */
import type { Range } from "../../resources/range.ts";

const DAY = 86_400_000;

/** The first and the last UTC day of a time range. A range that ends as a day begins has nothing of that day. */
export function findDays({ from, to = Date.now() }: Pick<Range, "from" | "to">): { first: string; last: string } {
  const day = (time: number) => new Date(time).toISOString().slice(0, 10);
  return { first: day(from), last: day(to - 1) };
}

/** The days whose mean is taken for those that are left of the month. */
const PACE_DAYS = 7;

interface Month {
  /** "2026-11". */
  month: string;
  /** US dollars. */
  cost: number;
  /** At the pace of the last whole days, at most seven. Undefined before there is one. */
  expected: number | undefined;
}

/** The cost of the month until `now`, and what it comes to by its end. Buckets are the days from its first to the one of `now`, in UTC. */
export function forecastMonth(buckets: { total_cost: number }[], now: number): Month {
  const at = new Date(now);
  const days = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 0)).getUTCDate();
  const sum = (some: typeof buckets) => some.reduce((total, { total_cost }) => total + total_cost, 0);
  const cost = sum(buckets);
  const whole = buckets.slice(0, at.getUTCDate() - 1).slice(-PACE_DAYS);
  const today = buckets[at.getUTCDate() - 1]?.total_cost ?? 0;
  const pace = sum(whole) / whole.length;
  // Today may come to more than the pace already.
  const rest = Math.max(0, pace - today) + pace * (days - at.getUTCDate());
  return {
    month: at.toISOString().slice(0, 7),
    cost,
    expected: whole.length > 0 ? cost + rest : undefined,
  };
}

export interface Day {
  day: string;
  project_id: string;
  project_name: string | null;
  runs: number;
  bytes: number;
}

/** Each day from the first to the last, also one on which nothing was stored. */
export function byDay(first: string, last: string, days: Day[]): { day: string; runs: number; bytes: number }[] {
  const sums = new Map<string, { day: string; runs: number; bytes: number }>();
  for (let at = Date.parse(first); at <= Date.parse(last); at += DAY) {
    const day = new Date(at).toISOString().slice(0, 10);
    sums.set(day, { day, runs: 0, bytes: 0 });
  }
  for (const { day, runs, bytes } of days) {
    const sum = sums.get(day);
    if (!sum) continue;
    sum.runs += runs;
    sum.bytes += bytes;
  }
  return [...sums.values()];
}

export interface ProjectSum {
  id: string;
  /** Null: the project was deleted. */
  name: string | null;
  runs: number;
  bytes: number;
}

/** The stored data of each project, the largest first. */
export function byProject(days: Day[]): ProjectSum[] {
  const sums = new Map<string, ProjectSum>();
  for (const { project_id: id, project_name: name, runs, bytes } of days) {
    const sum = sums.get(id) ?? { id, name, runs: 0, bytes: 0 };
    sums.set(id, { ...sum, runs: sum.runs + runs, bytes: sum.bytes + bytes });
  }
  return [...sums.values()].sort((a, b) => b.bytes - a.bytes);
}
