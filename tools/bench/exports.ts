/**
 * Bulk export: rows a second of processor time and memory of the writer for each codec, beside DuckDB writing the same rows
 * with one thread (reading them included); then rows a second end to end, from a server into an S3 server beside it.
 * `--rows` sizes both parts, `--codecs` says which.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { buildSync } from "esbuild";
import { endToEnd } from "./exports/server.ts";
import { mb, table } from "./figures.ts";
import { type Bench, CODECS, type Options } from "./bench.ts";

const DUCKDB = { none: "uncompressed", snappy: "snappy", gzip: "gzip", zstandard: "zstd" };
/** The old space, and four times the semi-space: an isolate's heap, with room left for buffers within 128 MB. */
const CAPPED = ["--max-old-space-size=64", "--max-semi-space-size=4"];
const formatThousands = (rows: number) => `${(rows / 1000).toFixed(1)}k`;

interface Written {
  seconds: number;
  text: number;
  bytes: number;
  live: number;
  rss: number;
}

/** The writer as JavaScript: Node runs no TypeScript that it must transform. */
function buildWriter(folder: string): string {
  const outfile = join(folder, "write.mjs");
  const entry = join(import.meta.dirname, "exports", "write.ts");
  buildSync({ entryPoints: [entry], outfile, bundle: true, format: "esm", platform: "node", target: "node22" });
  return outfile;
}

function write(script: string, rows: number, codec: string, file: string): Written {
  return JSON.parse(
    execFileSync(process.execPath, [...CAPPED, script, String(rows), codec, file], { encoding: "utf8" }),
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

async function writers(folder: string, rows: number, codecs: Options["codecs"]): Promise<void> {
  const cells = [];
  const script = buildWriter(folder);
  for (const codec of CODECS.filter((one) => one === "none" || codecs.includes(one))) {
    const file = join(folder, `${codec}.parquet`);
    const ours = write(script, rows, codec, file);
    const theirs = await duckdb(folder, codec);
    if (codec !== "none") rmSync(file);
    cells.push([
      codec,
      formatThousands(rows / ours.seconds),
      mb(ours.bytes),
      mb(ours.live),
      mb(ours.rss),
      formatThousands(rows / theirs.seconds),
      mb(theirs.bytes),
    ]);
  }
  table([`${rows} rows`, "rows per CPU second", "file", "heap + buffers", "RSS", "DuckDB", "its file"], cells);
}

export const bench: Bench = {
  title: "bulk export of runs of 2.6 KB",
  async start({ rows, codecs }) {
    const folder = mkdtempSync(join(tmpdir(), "weir-bench-"));
    try {
      await writers(folder, rows, codecs);
      console.log("");
      await endToEnd(rows, codecs);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};
