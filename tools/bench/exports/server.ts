/** Exports end to end: from the partitions of a server, through queue and ledger, into an S3 server in another process. */
import { globSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { makeRuns } from "../../../test/support/runs.ts";
import { multiply, withBenchRoutes } from "../../../test/support/server.ts";
import { load, mb, table } from "../figures.ts";
import { Isolate } from "../inspector.ts";
import { startPlain } from "../servers/plain.ts";
import { workerdUsage } from "../servers/processes.ts";
import type { Weir } from "../servers/server.ts";
import { type Bucket, startBucket } from "./bucket.ts";

const DAYS = 4;
const START = Date.parse("2026-01-01T00:00:00Z");
/** Runs that are sent for a day; the rest are copies of them. */
const SENT = 5_000;
const BATCH = 500;
/** A heap that leaves the larger part of an isolate's 128 MB to buffers: V8 lets 64 MB of them gather before it looks. */
const CAP = "--max-old-space-size=48";

export async function call<T>(server: Weir, path: string, body?: unknown): Promise<T> {
  const response = await fetch(server.url + path, {
    method: body === undefined ? "GET" : "POST",
    headers: { ...server.headers, "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json<T>();
}

/** Fills the days of the project "bench" with `rows` runs in all. Gives its id. */
async function fill(server: Weir, rows: number): Promise<string> {
  let project = "";
  for (let day = 0; day < DAYS; day++) {
    const from = (START + day * 86_400_000) * 1000;
    const ofDay = rows / DAYS;
    for (let sent = 0; sent < Math.min(ofDay, SENT); sent += BATCH) {
      await call(server, "/api/v1/runs/batch", { post: batch(from + sent * 1000, day * SENT + sent), patch: [] });
    }
    [{ id: project } = { id: "" }] = await call<{ id: string }[]>(server, "/api/v1/sessions?name=bench");
    await multiply(server, project, from / 1000, { rows: ofDay });
  }
  return project;
}

function batch(from: number, seed: number): object[] {
  const runs = makeRuns({ tenantId: "", projectId: "", from, spread: BATCH * 1000, count: BATCH, seed, size: 2_100 });
  return runs.map((run) => ({
    id: run.id.replace(/-8...-/, "-8000-"),
    name: run.name,
    run_type: run.run_type,
    start_time: new Date(run.start_time / 1000).toISOString(),
    end_time: new Date(run.start_time / 1000 + 1000).toISOString(),
    inputs: JSON.parse(run.inputs ?? "{}"),
    outputs: JSON.parse(run.outputs ?? "{}"),
    extra: JSON.parse(run.extra ?? "{}"),
    tags: run.tags,
    session_name: "bench",
  }));
}

/** Exports everything with each codec and prints what it took. */
export async function endToEnd(rows: number, codecs: readonly string[]): Promise<void> {
  await using bucket = await startBucket();
  const vars = { ALLOW_PRIVATE_ADDRESSES: "true" };
  await using server = await startPlain({ config: withBenchRoutes(), vars, inspected: true, v8Flags: CAP });
  using isolate = await Isolate.at(server);
  const project = await fill(server, rows);
  const destination = await call<{ id: string }>(server, "/api/v1/bulk-exports/destinations", bucket.destination);
  const results: (string | number)[][] = [];
  for (const compression of codecs) {
    const job = { bulk_export_destination_id: destination.id, session_id: project, compression };
    const window = { start_time: new Date(START), end_time: new Date(START + DAYS * 86_400_000) };
    const [timed, most] = await isolate.watch(timeExport(server, rows, { ...job, ...window }));
    const bytes = await check(bucket, timed.id, rows);
    rmSync(bucket.folder, { recursive: true });
    results.push([
      compression,
      timed.seconds.toFixed(1),
      Math.round(rows / timed.seconds),
      Math.round(rows / timed.cpu),
      mb(bytes),
      mb(most.heap),
      mb(most.buffers),
      mb(most.both),
      mb(workerdUsage(server.pid).rss),
    ]);
  }
  const measured = [
    "s",
    "rows/s",
    "rows per CPU second of workerd",
    "files",
    "heap",
    "buffers",
    "both",
    "RSS of workerd",
  ];
  table([`${rows} rows through a server`, ...measured], results);
  console.log(`\nLoad: ${load()}. V8 flags: ${CAP}.`);
}

interface Timed {
  id: string;
  seconds: number;
  cpu: number;
}

/** From the request to the completed export, seen every `look` milliseconds. */
export async function timeExport(server: Weir, rows: number, job: object, look = 100): Promise<Timed> {
  const before = workerdUsage(server.pid).cpu;
  const start = performance.now();
  const { id } = await call<{ id: string }>(server, "/api/v1/bulk-exports", job);
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, look));
    const { status, error, progress } = await call<{
      status: string;
      error: string;
      progress: { rows_written: number };
    }>(server, `/api/v1/bulk-exports/${id}`);
    if (["CREATED", "RUNNING"].includes(status)) continue;
    if (status !== "COMPLETED" || progress.rows_written !== rows) {
      throw new Error(`${status}: ${error}, ${progress.rows_written} rows`);
    }
    return { id, seconds: (performance.now() - start) / 1000, cpu: workerdUsage(server.pid).cpu - before };
  }
}

/** DuckDB finds every run in the files, once. Gives the bytes of the files. */
export async function check({ folder }: Bucket, id: string, rows: number): Promise<number> {
  const files = globSync(join(folder, "**", `export_id=${id}`, "**", "*.parquet"));
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  const read = await connection.runAndReadAll(
    `SELECT count(DISTINCT id)::INT, count(*)::INT FROM read_parquet([${files.map((file) => `'${file}'`).join()}])`,
  );
  const counts = read.getRows()[0];
  if (counts?.[0] !== rows || counts[1] !== rows) throw new Error(`DuckDB finds ${String(counts)} of ${rows} rows`);
  return files.reduce((sum, file) => sum + statSync(file).size, 0);
}
