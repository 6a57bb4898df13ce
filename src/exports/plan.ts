/** From an export's window to its runs: one for each project and UTC day, tiling the window exactly. */
import { listExperiments } from "../traces/projects/store.ts";
import { dayBounds, toDay } from "../traces/time.ts";
import type { Deps } from "./deps.ts";
import { completeEmptyRuns, failJob, insertRuns, markPlanned, type PlannedRun } from "./ledger/jobs.ts";
import { lateDays } from "./ledger/late.ts";
import type { ExportRow } from "./store.ts";

/** More runs than this do not fit one export; a shorter window does the rest. */
const MAX_RUNS = 100_000;

export interface Window {
  day: string;
  startTime: number;
  endTime: number;
}

/** The UTC days of the half-open window [start, end), the first and the last cut to it. Microseconds. */
export function dayWindows(start: number, end: number): Window[] {
  const windows: Window[] = [];
  for (let at = start; at < end;) {
    const day = toDay(at);
    const next = Math.min(dayBounds(day).end, end);
    windows.push({ day, startTime: at, endTime: next });
    at = next;
  }
  return windows;
}

/** Inserts the runs of an export. Experiments created after the job are included. */
export async function plan(deps: Deps, job: ExportRow): Promise<void> {
  const projectIds = job.sessionId === null ? await listExperiments(deps.db, job.workspaceId) : [job.sessionId];
  const windows = dayWindows(job.startTime, job.endTime ?? job.startTime);
  if (projectIds.length > deps.maxExperiments) {
    const reason = `TooManyExperiments: ${projectIds.length} experiments, and an export may have ${deps.maxExperiments}.`;
    return failJob(deps.db, job.id, reason, deps.now());
  }
  if (projectIds.length * windows.length > MAX_RUNS) {
    const reason = `TooManyRuns: ${projectIds.length} projects of ${windows.length} days; choose a shorter window.`;
    return failJob(deps.db, job.id, reason, deps.now());
  }
  const runs = projectIds.flatMap((projectId) =>
    windows.map((window): PlannedRun => ({ id: deps.newId(), projectId, ...window })),
  );
  await insertRuns(deps.db, job, runs, deps.now());
  const late = await lateDays(deps.db, job);
  const lateRuns = late.slice(0, MAX_RUNS).map((day): PlannedRun => ({ id: deps.newId(), ...day }));
  await insertRuns(deps.db, job, lateRuns, deps.now());
  await completeEmptyRuns(deps.db, job.id, deps.now());
  await markPlanned(deps.db, job.id, deps.now());
}
