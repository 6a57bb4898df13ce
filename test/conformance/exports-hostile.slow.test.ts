/**
 * Hostile runs through an export: DuckDB finds in the files each run that was sent, once, as the model of the oracle has it.
 * `ROWS` sets how many.
 */
import { hash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, it } from "vitest";
import { columnApart, readRow, type Row, type Texts } from "../oracle/traces/exported-row.ts";
import { objectText } from "../oracle/traces/json.ts";
import { type Portion, generatePortions } from "../oracle/traces/portions.ts";
import { DAY, toIso } from "../oracle/traces/programs.ts";
import type { Write } from "../oracle/traces/run.ts";
import { Bucket, localR2 } from "../support/object-stores.ts";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";
import { chooseAmount } from "../support/thorough.ts";

const ROWS = chooseAmount("ROWS", 50_000, 1_000_000);
const PROJECT = "hostile";
/** Portions that are sent at the same time. */
const AT_ONCE = 3;
/** Differences that are printed. */
const SHOWN = 5;
const TODAY = Math.floor((Date.now() * 1000) / DAY) * DAY;
/** Where the runs begin, in days: an export has at most ten years. */
const WINDOWS = [
  { start_time: toIso(Date.UTC(1971, 0, 1) * 1000), end_time: toIso(Date.UTC(1972, 0, 1) * 1000) },
  { start_time: toIso(TODAY - 30 * DAY), end_time: toIso(TODAY + 30 * DAY) },
];
const TIMES = ["start_time", "end_time"];
/** DuckDB's package for Node removes a byte order mark at the beginning of a text. JSON begins with a quote. */
const MARKED = ["name", "error", "tags"];
const COLUMNS = [
  ...TIMES.map((name) => `epoch_us(${name}) AS ${name}`),
  ...MARKED.map((name) => `to_json(${name}) AS ${name}`),
].join();

let server: TestServer;
let folder: string;

beforeAll(async () => {
  server = await sharedServer();
  folder = mkdtempSync(join(tmpdir(), "weir-hostile-"));
});

afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function call<T>(path: string, body?: string | object): Promise<T> {
  const response = await fetch(server.url + path, {
    method: body === undefined ? "GET" : "POST",
    headers: { ...server.headers, "x-tenant-id": server.workspaceId, "content-type": "application/json" },
    body: typeof body === "object" ? JSON.stringify(body) : body,
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text.slice(0, 500)}`);
  return JSON.parse(text) as T;
}

async function send({ requests }: Portion): Promise<void> {
  const toJsonList = (writes: Write[]) => `[${writes.map(({ fields }) => objectText(fields)).join(",")}]`;
  for (const { post, patch } of requests) {
    const body = objectText({ post: toJsonList(post), patch: toJsonList(patch) });
    const answer = await call<{ rejected: number; errors: unknown }>("/api/v1/runs/batch", body);
    if (answer.rejected > 0) throw new Error(`a write is refused: ${JSON.stringify(answer.errors).slice(0, 500)}`);
  }
}

/** The rows of the files of an export to the local R2, as DuckDB reads them. */
async function* readExported(destination: string, session_id: string, window: object): AsyncGenerator<Row[]> {
  const { id } = await call<{ id: string }>("/api/v1/bulk-exports", {
    bulk_export_destination_id: destination,
    session_id,
    ...window,
  });
  let job = { status: "CREATED", error: null };
  while (["CREATED", "RUNNING"].includes(job.status)) {
    await sleep(250);
    job = await call(`/api/v1/bulk-exports/${id}`);
  }
  expect(job).toMatchObject({ status: "COMPLETED", error: null });
  await new Bucket(localR2(server.url)).download(`${PROJECT}/export_id=${id}`, folder);
  const connection = await (await DuckDBInstance.create()).connect();
  const files = `read_parquet('${folder}/${PROJECT}/export_id=${id}/**/*.parquet', hive_partitioning = false)`;
  const result = await connection.stream(`SELECT * REPLACE (${COLUMNS}) FROM ${files}`);
  for await (const rows of result.yieldRowObjectJs()) yield rows.map(unwrapRow);
  connection.closeSync();
}

const unwrapRow = (row: Row): Row => ({
  ...row,
  ...Object.fromEntries(MARKED.map((name) => [name, JSON.parse((row[name] as string | null) ?? "null")])),
});

/** Of a million rows only the digests fit memory. */
const digestRow = (row: Texts): string => hash("md5", JSON.stringify(row), "base64");

/** What differs of some of these rows, after their number. */
function listDifferences(different: ReadonlyMap<string, Texts>, session: string): string[] {
  if (different.size === 0) return [];
  const apart: string[] = [];
  for (const { rows } of generatePortions(ROWS, PROJECT, TODAY))
    for (const [id, row] of rows(session)) {
      const real = different.get(id);
      if (real !== undefined && apart.length < SHOWN) apart.push(`${id}: ${columnApart(real, row)}`);
    }
  return [`${different.size} rows differ`, ...apart];
}

async function newDestination(): Promise<string> {
  const { bucket, endpoint, accessKeyId, secretAccessKey } = localR2(server.url);
  const { id } = await call<{ id: string }>("/api/v1/bulk-exports/destinations", {
    destination_type: "s3",
    display_name: "lake",
    config: { bucket_name: bucket, prefix: PROJECT, region: "us-east-1", endpoint_url: endpoint },
    credentials: { access_key_id: accessKeyId, secret_access_key: secretAccessKey },
  });
  return id;
}

it(`an export of ${ROWS} hostile runs is equal to the model row by row`, { timeout: 60_000 + ROWS * 5 }, async () => {
  const began = performance.now();
  const seconds = () => Math.round((performance.now() - began) / 1000);
  const { id: session } = await call<{ id: string }>("/sessions", { name: PROJECT });
  const missing = new Map<string, string>();
  const portions = generatePortions(ROWS, PROJECT, TODAY);
  const sendNext = async () => {
    for (const portion of portions) {
      for (const [id, row] of portion.rows(session)) missing.set(id, digestRow(row));
      await send(portion);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sendNext));
  expect(missing.size).toBe(ROWS);
  const sent = seconds();

  const destination = await newDestination();
  const different = new Map<string, Texts>();
  const unexpected: string[] = [];
  for (const window of WINDOWS)
    for await (const rows of readExported(destination, session, window))
      for (const real of rows) {
        const [id, row] = [String(real.id), readRow(real)];
        const wanted = missing.get(id);
        if (wanted === undefined) unexpected.push(id);
        else if (wanted !== digestRow(row)) different.set(id, row);
        missing.delete(id);
      }
  console.log(`hostile: ${JSON.stringify({ rows: ROWS, sent, seconds: seconds() })}`);
  expect(listDifferences(different, session)).toEqual([]);
  expect([...missing.keys()].slice(0, SHOWN), `${missing.size} runs are missing`).toEqual([]);
  expect(unexpected.slice(0, SHOWN), `${unexpected.length} rows are doubled, or of no run`).toEqual([]);
});
