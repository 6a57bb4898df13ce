/**
 * Bulk export: rows a second of processor time and memory of the writer for each codec, beside DuckDB writing the same rows
 * with one thread (reading them included); then rows a second end to end, through a server and its local S3 endpoint.
 * EXPORT_ROWS (200,000) sizes the writer's part, EXPORT_ROWS_SERVER (50,000) the part through a server.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { localR2 } from "../support/object-stores.ts";
import { makeRuns } from "../support/runs.ts";
import { type KillableServer, startKillable } from "../support/server.ts";
import { table } from "./figures.ts";
import type { Bench } from "./target.ts";

const ROWS = Number(process.env.EXPORT_ROWS ?? 200_000);
const ROWS_SERVER = Number(process.env.EXPORT_ROWS_SERVER ?? 50_000);
const CODECS = ["none", "snappy", "gzip", "zstandard"] as const;
const DUCKDB = { none: "uncompressed", snappy: "snappy", gzip: "gzip", zstandard: "zstd" };
/** The old space, and four times the semi-space: an isolate's heap, with room left for buffers within 128 MB. */
const CAPPED = [
  "--max-old-space-size=64",
  "--max-semi-space-size=4",
  "--experimental-transform-types",
  "--no-warnings",
];
const DAYS = 4;
/** Clock ticks a second in /proc. */
const TICKS = 100;

const mb = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;
const thousands = (rows: number) => `${(rows / 1000).toFixed(1)}k`;

interface Written {
  seconds: number;
  text: number;
  bytes: number;
  live: number;
  rss: number;
}

function write(codec: string, file: string): Written {
  const script = join(import.meta.dirname, "exports", "write.ts");
  return JSON.parse(
    execFileSync(process.execPath, [...CAPPED, script, String(ROWS), codec, file], { encoding: "utf8" }),
  );
}

async function duckdb(folder: string, codec: keyof typeof DUCKDB) {
  const connection = await (await DuckDBInstance.create(":memory:", { threads: "1" })).connect();
  const [source, target] = [join(folder, "none.parquet"), join(folder, `duckdb-${codec}.parquet`)];
  const start = process.cpuUsage();
  await connection.run(`COPY (FROM '${source}') TO '${target}' (FORMAT parquet, COMPRESSION ${DUCKDB[codec]})`);
  const { user, system } = process.cpuUsage(start);
  const seconds = (user + system) / 1e6;
  const bytes = statSync(target).size;
  rmSync(target);
  return { seconds, bytes };
}

async function writers(folder: string): Promise<void> {
  const rows = [];
  for (const codec of CODECS) {
    const file = join(folder, `${codec}.parquet`);
    const ours = write(codec, file);
    const theirs = await duckdb(folder, codec);
    if (codec !== "none") rmSync(file);
    rows.push([
      codec,
      thousands(ROWS / ours.seconds),
      mb(ours.bytes),
      mb(ours.live),
      mb(ours.rss),
      thousands(ROWS / theirs.seconds),
      mb(theirs.bytes),
    ]);
  }
  table([`${ROWS} rows`, "rows per CPU second", "file", "heap + buffers", "RSS", "DuckDB", "its file"], rows);
}

async function call<T>(server: KillableServer, path: string, body?: unknown): Promise<T> {
  const response = await fetch(server.url + path, {
    method: body === undefined ? "GET" : "POST",
    headers: { ...server.headers, "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json<T>();
}

/** Sends runs of DAYS days. */
async function fill(server: KillableServer): Promise<void> {
  for (let sent = 0; sent < ROWS_SERVER; sent += 500) {
    const day = Math.floor((sent * DAYS) / ROWS_SERVER);
    const from = (Date.parse("2026-01-01T00:00:00Z") / 1000 + day * 86_400) * 1_000_000;
    const runs = makeRuns({
      tenantId: "",
      projectId: "",
      from,
      spread: 86_000_000_000,
      count: 500,
      seed: sent,
      size: 2_100,
    });
    const post = runs.map((run) => ({
      id: run.id,
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
    await call(server, "/api/v1/runs/batch", { post, patch: [] });
  }
}

/** What the processes of the server have used so far: the most memory of its workerd, bytes, and processor time, seconds. */
function usage(): { memory: number; cpu: number } {
  const used = { memory: 0, cpu: 0 };
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      if (!ancestors(pid).includes(String(process.pid))) continue;
      const [, user = "0", system = "0"] =
        /^\d+ \(.*\) \S(?: -?\d+){10} (\d+) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
      used.cpu += (Number(user) + Number(system)) / TICKS;
      if (!readFileSync(`/proc/${pid}/comm`, "utf8").startsWith("workerd")) continue;
      const peak = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0;
      used.memory = Math.max(used.memory, Number(peak) * 1024);
    } catch {
      // The process has ended in the meantime.
    }
  }
  return used;
}

function ancestors(pid: string): string[] {
  const parent = /PPid:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? "0";
  return parent === "0" || parent === "1" ? [] : [parent, ...ancestors(parent)];
}

async function endToEnd(): Promise<void> {
  const server = await startKillable({ ALLOW_PRIVATE_ADDRESSES: "true" });
  try {
    const start = performance.now();
    await fill(server);
    console.log(`\n${ROWS_SERVER} rows sent in ${((performance.now() - start) / 1000).toFixed(0)} s`);
    const [project] = await call<{ id: string }[]>(server, "/api/v1/sessions?name=bench");
    const { endpoint, bucket, accessKeyId, secretAccessKey } = localR2(server.url);
    const destination = await call<{ id: string }>(server, "/api/v1/bulk-exports/destinations", {
      display_name: "bench",
      config: { bucket_name: bucket, endpoint_url: endpoint },
      credentials: { access_key_id: accessKeyId, secret_access_key: secretAccessKey },
    });
    const rows = [];
    for (const compression of CODECS) {
      const before = usage();
      const seconds = await exported(server, {
        bulk_export_destination_id: destination.id,
        session_id: project?.id,
        start_time: "2026-01-01T00:00:00Z",
        end_time: `2026-01-0${1 + DAYS}T00:00:00Z`,
        compression,
      });
      const after = usage();
      const perCpu = thousands(ROWS_SERVER / (after.cpu - before.cpu));
      rows.push([compression, seconds.toFixed(1), thousands(ROWS_SERVER / seconds), perCpu, mb(after.memory)]);
    }
    const measured = ["s", "rows/s", "rows per CPU second, all processes", "workerd, whole process"];
    table([`${ROWS_SERVER} rows through a server`, ...measured], rows);
  } finally {
    await server.stop();
  }
}

/** Seconds from the request to the completed export. */
async function exported(server: KillableServer, job: object): Promise<number> {
  const start = performance.now();
  const { id } = await call<{ id: string }>(server, "/api/v1/bulk-exports", job);
  for (;;) {
    const { status, error, progress } = await call<{
      status: string;
      error: string;
      progress: { rows_written: number };
    }>(server, `/api/v1/bulk-exports/${id}`);
    if (status === "COMPLETED" && progress.rows_written === ROWS_SERVER) return (performance.now() - start) / 1000;
    if (!["CREATED", "RUNNING"].includes(status)) throw new Error(`${status}: ${error}, ${progress.rows_written} rows`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export const bench: Bench = {
  title: "bulk export of runs of 2.6 KB",
  weirOnly: true,
  async run() {
    const folder = mkdtempSync(join(tmpdir(), "weir-bench-"));
    try {
      await writers(folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
    await endToEnd();
  },
};
