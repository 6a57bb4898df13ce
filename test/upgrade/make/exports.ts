/** Makes exports that are interrupted halfway, and a schedule with spawned and due windows. */
import { localR2 } from "../../support/object-stores.ts";
import { type Api, waitUntil } from "../../support/api.ts";
import type { CompletedRun, Exports, ExportWindow, TraceProject } from "../manifest.ts";
import { FIRST_DAY } from "./traces.ts";

const DAY = 86_400_000;
/** The size of the exported project: enough export runs to interrupt an export halfway. */
export const EXPORTED = { days: 40, perDay: 12 };

type Job = Record<string, unknown> & { id: string };
interface Shown {
  status: string;
  progress: { runs_total: number; runs_completed: number };
}

const iso = (time: number) => new Date(time).toISOString();

/** The completed runs of an export. They must not change after the upgrade. */
async function listCompletedRuns(api: Api, id: string): Promise<CompletedRun[]> {
  const runs = await api.get<(CompletedRun & { status: string })[]>(`/api/v1/bulk-exports/${id}/runs?limit=1000`);
  const completed = runs.filter(({ status }) => status === "COMPLETED");
  return completed.map(({ id, finished_at, metadata: { result } }) => {
    const { rows_written, exported_files } = result;
    return { id, finished_at, metadata: { result: { rows_written, exported_files } } };
  });
}

/** The number of due windows of one day each. One sweep spawns 20. The release under test spawns the others. */
const WINDOWS = 40;

/** A schedule with 40 due windows. One sweep spawns the first ones, which complete. */
export async function makeSchedule(api: Api, project: TraceProject): Promise<Exports["schedule"]> {
  const destination = await api.post<Job>("/api/v1/bulk-exports/destinations", {
    destination_type: "r2",
    display_name: "scheduled",
    config: { prefix: "scheduled" },
  });
  const start = Date.now() - WINDOWS * DAY - 20 * 60_000;
  const schedule = await api.post<Job & Exports["schedule"]>("/api/v1/bulk-exports", {
    bulk_export_destination_id: destination.id,
    session_id: project.id,
    start_time: iso(start),
    interval_hours: 24,
  });
  await fetch(`${api.url}/cdn-cgi/handler/scheduled`);
  const windows = await waitUntil("the first windows of the schedule are exported", 120, async () => {
    const all = await api.get<(Job & ExportWindow)[]>("/api/v1/bulk-exports?limit=100");
    const own = all.filter((job) => job.source_bulk_export_id === schedule.id);
    return own.length > 0 && own.every((job) => job.status === "COMPLETED") ? own : undefined;
  });
  if (windows.length >= WINDOWS) throw new Error("One sweep has spawned every window.");
  const { id, start_time, interval_hours } = schedule;
  const first = windows.sort(compareStart).map(({ id, start_time, end_time, status, finished_at }) => {
    return { id, start_time, end_time, status, finished_at };
  });
  return { id, start_time, interval_hours, windows: first };
}

const compareStart = (a: ExportWindow, b: ExportWindow) => Date.parse(a.start_time) - Date.parse(b.start_time);

/** Starts both exports and returns when a third of the first one is complete. The caller then kills the server. */
export async function startExports(api: Api, project: TraceProject): Promise<Exports["jobs"]> {
  const { endpoint, bucket: bucket_name, accessKeyId, secretAccessKey } = localR2(api.url);
  const embedded = await api.post<Job>("/api/v1/bulk-exports/destinations", {
    destination_type: "r2",
    display_name: "embedded",
    config: { prefix: "embedded" },
  });
  const s3 = await api.post<Job>("/api/v1/bulk-exports/destinations", {
    display_name: "with credentials",
    config: { bucket_name, prefix: "credentials", endpoint_url: endpoint },
    credentials: { access_key_id: accessKeyId, secret_access_key: secretAccessKey },
  });
  const start = (destination: Job) =>
    api.post<Job>("/api/v1/bulk-exports", {
      bulk_export_destination_id: destination.id,
      session_id: project.id,
      start_time: iso(FIRST_DAY),
      end_time: iso(FIRST_DAY + EXPORTED.days * DAY),
    });
  const jobs = [await start(embedded), await start(s3)];
  await waitUntil("a third of the first export is complete", 60, async () => {
    const { progress } = await api.get<Shown>(`/api/v1/bulk-exports/${jobs[0]?.id}`);
    return progress.runs_completed * 3 >= progress.runs_total && progress.runs_total > 0 ? progress : undefined;
  });
  return Promise.all(
    jobs.map(async ({ id }) => {
      const completed = await listCompletedRuns(api, id);
      if (completed.length === EXPORTED.days) throw new Error("The export had ended before the server was killed.");
      return { id, rows: project.rows, ids: project.ids, completed };
    }),
  );
}
