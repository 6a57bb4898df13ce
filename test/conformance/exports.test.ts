/** Bulk export end to end: runs sent to the server come out of a bucket, and DuckDB reads them as they were. */
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildQuery } from "../../packages/web/console/exports/duckdb.ts";
import { Bucket, cephGateway, localR2, type S3Server } from "../support/object-stores.ts";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";

const DAY = 86_400_000;
const FROM = Date.parse("2026-01-01T00:00:00Z");
/** A multiple of 9, so that each chain is in the same day as its model call. */
const COUNT = 270;

interface SentRun {
  id: string;
  trace_id: string;
  dotted_order: string;
  parent_run_id?: string;
  name: string;
  run_type: string;
  start_time: string;
  end_time: string;
  inputs: unknown;
  outputs: unknown;
  error?: string;
  tags: string[];
  extra: unknown;
  events: unknown[];
  session_name: string;
}

let server: TestServer;
let folder: string;
const sent: Record<string, SentRun[]> = {};

beforeAll(async () => {
  server = await sharedServer();
  folder = mkdtempSync(join(tmpdir(), "weir-exports-"));
  for (const project of ["alpha", "beta"]) {
    sent[project] = generateRuns(project);
    for (let at = 0; at < COUNT; at += 60) {
      await call("/api/v1/runs/batch", { post: sent[project].slice(at, at + 60), patch: [] });
    }
  }
});

afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs of one project over three days, with microseconds, nesting, errors, and text that is hard to quote. */
function generateRuns(project: string): SentRun[] {
  return Array.from({ length: COUNT }, (_, n) => {
    const start = FROM + Math.floor((n * 3 * DAY) / COUNT);
    const micros = String(n % 1000).padStart(3, "0");
    const id = uuid(`${project}-${n}`);
    const stamp = (ms: number, rest: string) => `${new Date(ms).toISOString().slice(0, -1)}${rest}Z`;
    const segment = `${stamp(start, micros).replace(/[-:.]/g, "")}${id}`;
    const parent = n % 3 === 2 ? findPreviousRoot(project, n) : undefined;
    return {
      id,
      trace_id: parent?.id ?? id,
      dotted_order: parent ? `${parent.segment}.${segment}` : segment,
      ...(parent && { parent_run_id: parent.id }),
      name: n % 3 === 2 ? "model" : `chain "${n}" 水`,
      run_type: n % 3 === 2 ? "llm" : "chain",
      start_time: stamp(start, micros),
      end_time: stamp(start + 1500, micros),
      inputs: { n, text: `line one\nline "two" \\ 🌊 ${"x".repeat(n)}` },
      outputs: n % 3 === 2 ? { usage_metadata: { input_tokens: n, output_tokens: 2, total_tokens: n + 2 } } : { n },
      ...(n % 10 === 0 && { error: `Error: boom ${n}` }),
      tags: n % 2 === 0 ? [] : ["odd", `t${n % 5}`],
      extra: { metadata: { n: n % 7 } },
      events: [],
      session_name: project,
    };
  });
}

function findPreviousRoot(project: string, n: number) {
  const start = FROM + Math.floor(((n - 1) * 3 * DAY) / COUNT);
  const id = uuid(`${project}-${n - 1}`);
  const micros = String((n - 1) % 1000).padStart(3, "0");
  return { id, segment: `${`${new Date(start).toISOString().slice(0, -1)}${micros}Z`.replace(/[-:.]/g, "")}${id}` };
}

function uuid(name: string): string {
  const hex = createHash("sha256").update(name).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

async function call<T>(path: string, body?: unknown, method = body === undefined ? "GET" : "POST"): Promise<T> {
  const response = await fetch(server.url + path, {
    method,
    headers: { ...server.headers, "x-tenant-id": server.workspaceId, "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

async function projectId(name: string): Promise<string> {
  const [project] = await call<{ id: string }[]>(`/api/v1/sessions?name=${name}`);
  if (!project) throw new Error(`no project ${name}`);
  return project.id;
}

interface ExportAnswer {
  id: string;
  status: string;
  error: string | null;
  progress: { rows_written: number; files_written: number; fraction: number };
}

async function waitUntilFinished(id: string): Promise<ExportAnswer> {
  for (;;) {
    const job = await call<ExportAnswer>(`/api/v1/bulk-exports/${id}`);
    if (!["CREATED", "RUNNING"].includes(job.status)) return job;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function destinationOn({ endpoint, bucket, accessKeyId, secretAccessKey }: S3Server, prefix: string) {
  const { id } = await call<{ id: string }>("/api/v1/bulk-exports/destinations", {
    destination_type: "s3",
    display_name: "lake",
    config: { bucket_name: bucket, prefix, region: "us-east-1", endpoint_url: endpoint },
    credentials: { access_key_id: accessKeyId, secret_access_key: secretAccessKey },
  });
  return id;
}

const WINDOW = { start_time: "2026-01-01T00:00:00Z", end_time: "2026-01-04T00:00:00Z", format_version: "v2_beta" };

async function query(sql: string): Promise<Record<string, unknown>[]> {
  const connection = await (await DuckDBInstance.create()).connect();
  await connection.run("SET TimeZone = 'UTC'");
  return (await connection.runAndReadAll(sql)).getRowObjectsJson();
}

/** The statements for DuckDB of docs/exports-reading.md, on the files of this export below this folder. */
function listDocumented(id: string, below: string): string[] {
  const page = readFileSync("docs/exports-reading.md", "utf8");
  const section = page.slice(page.indexOf("## DuckDB"), page.indexOf("## Spark"));
  return [...section.matchAll(/```sql\n([^`]*)```/g)]
    .flatMap(([, block = ""]) => block.replaceAll(/--.*/g, "").split(";"))
    .map((statement) => statement.trim())
    .filter((statement) => /^(SELECT|CREATE VIEW)/.test(statement))
    .map((statement) =>
      statement
        .replaceAll("'prod'", "'odd'")
        .replaceAll("'…'", `'s3://my-bucket/weir/export_id=<id>/**/*.parquet'`)
        .replaceAll("s3://my-bucket/weir/", `${below}/`)
        // The folder has the exports of every store that is tried.
        .replaceAll(/export_id=(<id>|\*)/g, `export_id=${id}`),
    );
}

/** A model call has its own tokens, the chain around it the sum of what is below it. */
function countTokens(n: number): string | null {
  return n % 3 === 0 ? null : String(n % 3 === 2 ? n + 2 : n + 3);
}

/** A time as DuckDB prints it: no trailing zeros in the fraction. */
const toShown = (iso: string) =>
  `${iso
    .replace("T", " ")
    .replace("Z", "")
    .replace(/\.?0+$/, "")}+00`;

const CEPH = cephGateway();
const STORES: [string, () => S3Server][] = [["local R2", () => localR2(server.url)]];
if (CEPH) STORES.push([CEPH.name, () => CEPH]);
else console.log("No CEPH_ENDPOINT: the exports are not tried on Ceph here. .ci/ceph.sh starts a gateway.");

describe.each(STORES)("an export to %s", (_, findServer) => {
  it("comes out as it went in, and reads by partition", async () => {
    const bucket = new Bucket(findServer());
    await bucket.create();
    const destination = await destinationOn(bucket.server, "whole");
    expect(await bucket.list("whole/tmp")).toEqual([]);
    const session_id = await projectId("alpha");
    const { id } = await call<ExportAnswer>("/api/v1/bulk-exports", {
      bulk_export_destination_id: destination,
      session_id,
      ...WINDOW,
    });
    const job = await waitUntilFinished(id);
    expect(job).toMatchObject({ status: "COMPLETED", error: null });
    expect(job.progress).toMatchObject({ rows_written: COUNT, files_written: 3, fraction: 1 });

    const root = `whole/export_id=${id}`;
    const keys = await bucket.download(root, folder);
    const day = `${root}/tenant_id=${server.workspaceId}/session_id=${session_id}/runs/year=2026/month=1/day`;
    expect(keys.sort()).toEqual([
      `${root}/_manifest.json`,
      `${day}=1/part-00000.parquet`,
      `${day}=2/part-00000.parquet`,
      `${day}=3/part-00000.parquet`,
    ]);
    const manifest = JSON.parse(readFileSync(join(folder, root, "_manifest.json"), "utf8"));
    for (const file of manifest.partitions.flatMap((partition: { files: unknown[] }) => partition.files)) {
      const bytes = readFileSync(join(folder, file.key));
      expect([bytes.length, createHash("sha256").update(bytes).digest("hex")]).toEqual([file.bytes, file.sha256]);
    }

    const files = `read_parquet('${join(folder, root)}/**/*.parquet', hive_partitioning = true)`;
    const rows = await query(`SELECT * FROM ${files} ORDER BY start_time, id`);
    const expected = (sent.alpha ?? []).map((run, index) => ({
      id: run.id,
      tenant_id: server.workspaceId,
      session_id,
      trace_id: run.trace_id,
      parent_run_id: run.parent_run_id ?? null,
      parent_run_ids: run.parent_run_id ? [run.parent_run_id] : [],
      name: run.name,
      run_type: run.run_type,
      start_time: toShown(run.start_time),
      end_time: toShown(run.end_time),
      status: run.error ? "error" : "success",
      is_root: run.parent_run_id === undefined,
      dotted_order: run.dotted_order,
      error: run.error ?? null,
      tags: run.tags,
      total_tokens: countTokens(index),
    }));
    expect(rows).toMatchObject(expected);
    rows.forEach((row, index) => {
      expect(JSON.parse(String(row.inputs))).toEqual(sent.alpha?.[index]?.inputs);
      expect(JSON.parse(String(row.extra))).toMatchObject(sent.alpha?.[index]?.extra as object);
    });

    // The page offers these queries.
    const whole = join(folder, "whole");
    const figures = await query(buildQuery({ id, interval_hours: null, export_fields: null }, whole));
    expect(figures.reduce((sum, { runs }) => sum + Number(runs), 0)).toBe(COUNT);
    const latest = await query(buildQuery({ id, interval_hours: 24, export_fields: null }, whole));
    expect(new Set(latest.map((run) => run.id)).size).toBe(COUNT);
    expect(latest).toHaveLength(COUNT);

    const connection = await (await DuckDBInstance.create()).connect();
    const lengths: number[] = [];
    for (const statement of listDocumented(id, whole))
      lengths.push((await connection.runAndReadAll(statement)).currentRowCount);
    const tagged = sent.alpha?.filter(({ tags }) => tags.includes("odd")).length;
    // By day and type; those with a tag; the manifest's files; the latest of each run; a view; all but deleted ones.
    expect(lengths).toEqual([6, tagged, 3, COUNT, 0, COUNT]);

    const [types] = await query(
      `SELECT typeof(start_time) t, typeof(tags) g, typeof(total_tokens) n, typeof(total_cost) c, typeof(is_root) b FROM ${files} LIMIT 1`,
    );
    expect(types).toEqual({ t: "TIMESTAMP WITH TIME ZONE", g: "VARCHAR[]", n: "BIGINT", c: "DOUBLE", b: "BOOLEAN" });
    const [run] = sent["alpha"] as [SentRun];
    const probe = async (id: string) => {
      const groups = await query(
        `SELECT bloom_filter_excludes AS out FROM parquet_bloom_probe('${join(folder, root)}/**/*.parquet', 'id', '${id}')`,
      );
      return groups.filter(({ out }) => out === false).length;
    };
    // One row group has the run. A group of 90 rows lets a few in a hundred other ids through.
    expect(await probe(run.id)).toBeGreaterThanOrEqual(1);
    expect(await Promise.all(["a", "b", "c"].map(probe))).toContain(0);
    expect(await query(`SELECT name FROM ${files} WHERE id = '${run.id}'`)).toEqual([{ name: run.name }]);
    const byDay = await query(
      `SELECT day::INT d, count(*)::INT n, sum(total_tokens)::INT t FROM ${files} GROUP BY 1 ORDER BY 1`,
    );
    expect(byDay.map(({ d, n }) => [d, n])).toEqual([
      [1, COUNT / 3],
      [2, COUNT / 3],
      [3, COUNT / 3],
    ]);
    expect(byDay.reduce((sum, { t }) => sum + Number(t), 0)).toBe(
      Array.from({ length: COUNT }, (_, n) => Number(countTokens(n))).reduce((sum, tokens) => sum + tokens),
    );
  });

  it.for(["none", "gzip", "snappy", "zstandard"])("takes a filter and chosen fields, %s", async (compression) => {
    const bucket = new Bucket(findServer());
    await bucket.create();
    const { id } = await call<ExportAnswer>("/api/v1/bulk-exports", {
      bulk_export_destination_id: await destinationOn(bucket.server, `chosen/${compression}`),
      session_id: await projectId("beta"),
      filter: 'and(eq(run_type, "llm"), has(tags, "odd"))',
      export_fields: ["tags", "id", "start_time"],
      compression,
      ...WINDOW,
    });
    expect(await waitUntilFinished(id)).toMatchObject({ status: "COMPLETED" });
    const root = `chosen/${compression}/export_id=${id}`;
    await bucket.download(root, folder);
    const rows = await query(
      `SELECT * FROM read_parquet('${join(folder, root)}/**/*.parquet', hive_partitioning = false) ORDER BY start_time`,
    );
    const expected = (sent.beta ?? []).filter((run) => run.run_type === "llm" && run.tags.includes("odd"));
    expect(rows).toEqual(expected.map((run) => ({ id: run.id, start_time: toShown(run.start_time), tags: run.tags })));
  });

  it("is refused with the store's own reason when the credentials are wrong", async () => {
    const wrong = { ...findServer(), secretAccessKey: "not-the-secret" };
    await expect(destinationOn(wrong, "x")).rejects.toThrow(
      /400 .*Failed to validate S3 destination: SignatureDoesNotMatch/,
    );
  });
});
