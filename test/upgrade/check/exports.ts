/** Checks the interrupted exports and the schedule of an older release. */
import { zstdDecompressSync } from "node:zlib";
import { parquetReadObjects } from "hyparquet";
import { expect } from "vitest";
import { Bucket, localR2 } from "../../support/object-stores.ts";
import { type Api, waitUntil } from "../../support/api.ts";
import { digest } from "../log.ts";
import type { CompletedRun, Exports, ExportWindow } from "../manifest.ts";

type Job = ExportWindow & { source_bulk_export_id: string | null; error: string | null };

const HOUR = 3_600_000;

/** Runs the scheduled handler, as the cron trigger does every minute. */
async function sweep(api: Api): Promise<void> {
  await (await fetch(`${api.url}/cdn-cgi/handler/scheduled`)).text();
}

/** The export completes, its completed runs are unchanged, and its files contain each trace run exactly once. */
export async function expectExported(api: Api, { id, rows, ids, completed }: Exports["jobs"][number]): Promise<void> {
  await sweep(api);
  const ended = await waitUntil("the export has ended", 120, async () => {
    const job = await api.get<Job>(`/api/v1/bulk-exports/${id}`);
    return ["CREATED", "RUNNING"].includes(job.status) ? undefined : job;
  });
  expect([ended.status, ended.error]).toEqual(["COMPLETED", null]);
  const runs = await api.get<CompletedRun[]>(`/api/v1/bulk-exports/${id}/runs?limit=1000`);
  expect(runs.length).toBeGreaterThan(completed.length);
  const byId = new Map(runs.map((run) => [run.id, run]));
  for (const before of completed) expect(byId.get(before.id)).toMatchObject(before);

  const bucket = new Bucket(localR2(api.url));
  const [manifest] = (await bucket.list("")).filter((name) => name.endsWith(`export_id=${id}/_manifest.json`));
  expect(manifest).toBeDefined();
  const folder = (manifest ?? "").replace("_manifest.json", "");
  const found: string[] = [];
  for (const name of (await bucket.list(folder)).filter((key) => key.endsWith(".parquet"))) {
    const file = (await bucket.get(name)).slice().buffer;
    const compressors = { ZSTD: (bytes: Uint8Array) => new Uint8Array(zstdDecompressSync(bytes)) };
    const all = await parquetReadObjects({ file, columns: ["id"], compressors });
    found.push(...all.map((row) => String(row.id)));
  }
  expect(found.length).toBe(rows);
  expect(digest(found.sort())).toBe(ids);
}

/** The schedule spawns each window once and without gaps, after the existing windows. */
export async function expectSchedule(api: Api, { id, start_time, interval_hours, windows }: Exports["schedule"]) {
  await sweep(api);
  expect(await api.get(`/api/v1/bulk-exports/${id}`)).toMatchObject({ id, status: "CREATED", interval_hours });
  const all = await api.get<Job[]>("/api/v1/bulk-exports?limit=1000");
  const own = all.filter((job) => job.source_bulk_export_id === id);
  const spawned = own.sort((a, b) => a.start_time.localeCompare(b.start_time));
  expect(spawned.slice(0, windows.length)).toMatchObject(windows);
  const due = Math.floor((Date.now() - 10 * 60_000 - Date.parse(start_time)) / (interval_hours * HOUR));
  // One sweep spawns a limited number of windows.
  expect(spawned.length).toBeGreaterThanOrEqual(Math.min(due, windows.length + 5));
  for (const [k, window] of spawned.entries()) {
    const start = Date.parse(start_time) + k * interval_hours * HOUR;
    expect([Date.parse(window.start_time), Date.parse(window.end_time)]).toEqual([
      start,
      start + interval_hours * HOUR,
    ]);
  }
}
