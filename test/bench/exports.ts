/**
 * Bulk export: rows a second of processor time and memory of the writer for each codec, beside DuckDB writing the same rows
 * with one thread (reading them included); then rows a second end to end, from a server into an S3 server beside it.
 * EXPORT_ROWS (200,000) sizes both parts, EXPORT_CODECS (all four) says which.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { endToEnd } from "./exports/server.ts";
import { mb, table } from "./figures.ts";
import type { Bench } from "./target.ts";

const ROWS = Number(process.env.EXPORT_ROWS ?? 200_000);
const ALL = ["none", "snappy", "gzip", "zstandard"] as const;
const CODECS = ALL.filter((codec) => (process.env.EXPORT_CODECS ?? ALL.join()).split(",").includes(codec));
const DUCKDB = { none: "uncompressed", snappy: "snappy", gzip: "gzip", zstandard: "zstd" };
/** The old space, and four times the semi-space: an isolate's heap, with room left for buffers within 128 MB. */
const CAPPED = [
  "--max-old-space-size=64",
  "--max-semi-space-size=4",
  "--experimental-transform-types",
  "--no-warnings",
];
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
  for (const codec of ALL.filter((codec) => codec === "none" || CODECS.includes(codec))) {
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

export const bench: Bench = {
  title: "bulk export of runs of 2.6 KB",
  weirOnly: true,
  async start() {
    const folder = mkdtempSync(join(tmpdir(), "weir-bench-"));
    try {
      await writers(folder);
      console.log("");
      await endToEnd(folder, ROWS, CODECS);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};
