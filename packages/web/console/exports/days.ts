/** The days of an export as a grid: in which rows they stand, how each looks, and how fast the export is. */
import { quantityText } from "../../ui/format.ts";
import { dayText } from "../../ui/days.ts";
import type { Job, Run, Status } from "./types.ts";

/** The label of a status, and its look. */
const STATUSES: Record<Status, { state: string; word: string }> = {
  CREATED: { state: "idle", word: "waiting" },
  RUNNING: { state: "running", word: "running" },
  COMPLETED: { state: "success", word: "done" },
  FAILED: { state: "error", word: "failed" },
  CANCELLED: { state: "idle", word: "cancelled" },
  TIMEDOUT: { state: "error", word: "timed out" },
};

/** The status of a job. A schedule that is not cancelled is active. */
export function jobStatus({ status, interval_hours }: Pick<Job, "status" | "interval_hours">) {
  if (interval_hours !== null && status === "CREATED") return { state: "running", word: "active" };
  return STATUSES[status];
}

export const runStatus = ({ status }: Pick<Run, "status">) => STATUSES[status];

export interface Group {
  key: string;
  /** The project. */
  project: string;
  late: boolean;
  months: { month: string; runs: Run[] }[];
}

/** Runs by project and month. Those of late data follow the others of their project. */
export function groupRuns(runs: Run[]): Group[] {
  const groups = new Map<string, Group>();
  for (const run of runs) {
    const key = `${run.session_id} ${run.late ? "late" : ""}`;
    const group = groups.get(key) ?? { key, project: run.session_id, late: run.late, months: [] };
    groups.set(key, group);
    const month = run.start_time.slice(0, 7);
    const last = group.months.at(-1);
    if (last?.month === month) last.runs.push(run);
    else group.months.push({ month, runs: [run] });
  }
  const first = new Map<string, number>();
  for (const { session_id } of runs) if (!first.has(session_id)) first.set(session_id, first.size);
  return [...groups.values()].sort(
    (a, b) => (first.get(a.project) ?? 0) - (first.get(b.project) ?? 0) || Number(a.late) - Number(b.late),
  );
}

/** "12 Nov: done, 1,204 rows, 2 attempts". */
export function runText(run: Run): string {
  const rows = run.metadata.result?.rows_written;
  const said = [
    runStatus(run).word,
    ...(rows === undefined ? [] : [quantityText(rows, "row")]),
    ...(run.retry_number > 0 ? [`${run.retry_number + 1} attempts`] : []),
  ];
  return `${dayText(run.start_time)}: ${said.join(", ")}`;
}

/** The window of a job in days: "1 Jan 2026 to 31 Jan 2026", or its first day for a schedule. */
export function windowText({ start_time, end_time }: Pick<Job, "start_time" | "end_time">): string {
  if (end_time === null) return `from ${dayText(start_time)}`;
  // The end is exclusive.
  const last = dayText(new Date(Date.parse(end_time) - 1).toISOString());
  return dayText(start_time) === last ? last : `${dayText(start_time)} to ${last}`;
}

/** "every day", "every 6 hours". */
export function everyText(hours: number): string {
  if (hours === 1) return "every hour";
  if (hours === 24) return "every day";
  if (hours === 168) return "every week";
  return hours % 24 === 0 ? `every ${hours / 24} days` : `every ${hours} hours`;
}

/** Days that must be done before the rest is estimated. */
const ENOUGH = 3;
/** An export without a change for so long is said to stand still. */
const STILL_MS = 120_000;

interface Pace {
  rowsPerSecond?: number | undefined;
  /** Seconds until the end at the present rate. */
  left?: number | undefined;
  /** The time of the last change, when that is long ago: the export has no rate. */
  stillSince?: string;
}

/** How fast an export that is under way is. */
export function measurePace(job: Job, runs: Run[], now: number): Pace {
  const { rows_written, runs_completed, runs_total } = job.progress;
  const seconds = (now - Date.parse(job.created_at)) / 1000;
  const last = runs.reduce((newest, { updated_at }) => (updated_at > newest ? updated_at : newest), job.created_at);
  if (now - Date.parse(last) > STILL_MS) return { stillSince: last };
  return {
    rowsPerSecond: rows_written > 0 && seconds > 1 ? rows_written / seconds : undefined,
    left: runs_completed >= ENOUGH ? (seconds / runs_completed) * (runs_total - runs_completed) : undefined,
  };
}

/** A day that is exported and has no runs. */
export const isEmpty = ({ status, metadata }: Run): boolean => status === "COMPLETED" && !metadata.result?.rows_written;
