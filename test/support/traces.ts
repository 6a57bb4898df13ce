/** Trace runs as an SDK would send them, and multipart bodies, for tests in workerd. */
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { segment, isoFromMicros } from "../../src/traces/time.ts";
import { runBlobPrefix, payloadKey, tracePartition } from "../../src/traces/stub.ts";
import { LARGE_FIELDS, PAYLOAD_FIELDS, type QueriedRun } from "../../src/traces/types.ts";
import type { Caller } from "./caller.ts";

/** 2026-11-20T15:49:54.252Z, microseconds. */
export const NOON = Date.UTC(2026, 10, 20, 15, 49, 54, 252) * 1000;
export const DAY = "2026-11-20";

/** A UUIDv7 of this time; `tail` distinguishes ids of the same time. */
export function uuid7(micros: number, tail = crypto.randomUUID().slice(-12)): string {
  const hex = Math.floor(micros / 1000)
    .toString(16)
    .padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${tail}`;
}

export interface Sent {
  id: string;
  trace_id: string;
  parent_run_id?: string;
  dotted_order: string;
  name: string;
  run_type: string;
  start_time: string;
  session_name: string;
  [field: string]: unknown;
}

/** Makes the project of a partition that a test writes directly. */
export async function makeProject({
  workspaceId,
  projectId,
}: {
  workspaceId: string;
  projectId: string;
}): Promise<void> {
  await env.DB.prepare(
    `INSERT OR REPLACE INTO projects (id, workspace_id, name, trace_tier, start_time) VALUES (?1, ?2, ?1, 'longlived', 0)`,
  )
    .bind(projectId, workspaceId)
    .run();
}

/** A run object, below `parent` if there is one. */
export function sentRun(start: number, more: Record<string, unknown> = {}, parent?: Sent): Sent {
  const id = uuid7(start);
  const own = segment(start, id);
  return {
    id,
    trace_id: parent?.trace_id ?? id,
    ...(parent ? { parent_run_id: parent.id } : {}),
    dotted_order: parent ? `${parent.dotted_order}.${own}` : own,
    name: "step",
    run_type: "chain",
    start_time: isoFromMicros(start),
    session_name: "tests",
    ...more,
  };
}

export interface MultipartPart {
  name: string;
  type?: string;
  data: string | Uint8Array;
}

export function multipart(parts: MultipartPart[], boundary = "----LangSmithFormBoundaryabc"): Uint8Array {
  const chunks = parts.flatMap(({ name, type = "application/json", data }) => {
    const bytes = typeof data === "string" ? Buffer.from(data) : Buffer.from(data);
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: ${type}; length=${bytes.byteLength}\r\n\r\n`;
    return [Buffer.from(head), bytes, Buffer.from("\r\n")];
  });
  return Buffer.concat([...chunks, Buffer.from(`--${boundary}--\r\n`)]);
}

const HEAVY = ["inputs", "outputs", "events", "extra", "error", "serialized"];

/** The parts of one run, split as the SDK splits it. */
export function runParts(kind: "post" | "patch", run: Record<string, unknown>): MultipartPart[] {
  const light = Object.fromEntries(Object.entries(run).filter(([field]) => !HEAVY.includes(field)));
  const heavy = HEAVY.filter((field) => run[field] !== undefined);
  const id = String(run["id"]);
  return [
    { name: `${kind}.${id}`, data: JSON.stringify(light) },
    ...heavy.map((field) => ({ name: `${kind}.${id}.${field}`, data: JSON.stringify(run[field]) })),
  ];
}

export async function sendMultipart(
  caller: Caller,
  parts: MultipartPart[],
  options: { encoding?: "gzip"; path?: string; headers?: Record<string, string> } = {},
): Promise<Response> {
  const body = multipart(parts);
  const packed = options.encoding ? await compress(body) : body;
  return caller.fetch(options.path ?? "/api/v1/runs/multipart", {
    method: "POST",
    body: packed,
    headers: {
      ...options.headers,
      "content-type": "multipart/form-data; boundary=----LangSmithFormBoundaryabc",
      ...(options.encoding ? { "content-encoding": options.encoding } : {}),
    },
  });
}

/** Sends runs, each with an attachment, which is stored in R2. */
export async function sendWithAttachments(caller: Caller, runs: Sent[]): Promise<void> {
  const parts = runs.flatMap((run) => [
    ...runParts("post", run),
    { name: `attachment.${run.id}.note`, type: "text/plain", data: "kept in R2" },
  ]);
  expect(await (await sendMultipart(caller, parts)).json()).toMatchObject({ rejected: 0 });
}

export async function compress(bytes: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The id of a project by its name. */
export async function projectId(caller: Caller, name = "tests"): Promise<string> {
  const row = await env.DB.prepare("SELECT id FROM projects WHERE workspace_id = ? AND name = ?")
    .bind(caller.workspaceId, name)
    .first<{ id: string }>();
  if (!row) throw new Error(`No project ${name}.`);
  return row.id;
}

/** Every run of a project's day, in the order (start_time, id), unless the day has several shards. */
export async function readStoredRuns(caller: Caller, name = "tests", day = DAY): Promise<QueriedRun[]> {
  const place = { projectId: await projectId(caller, name), day, shard: 0 };
  const partition = tracePartition(env, caller.workspaceId, place);
  const request = { order: "asc" as const, after: null, limit: 10_000, maxBytes: 32_000_000 };
  return (await partition.query({ ...request, payloads: [...PAYLOAD_FIELDS] })).runs;
}

/** The runs with their payloads in R2. */
export async function resolvePayloads(runs: QueriedRun[]): Promise<QueriedRun[]> {
  return Promise.all(
    runs.map(async ({ large, ...run }) => {
      for (const field of LARGE_FIELDS) {
        const payload = large?.[field];
        if (!payload) continue;
        const object = await env.BLOBS.get(payloadKey(runBlobPrefix(run), payload.hash));
        run[field] = (await object?.text()) ?? null;
      }
      return run;
    }),
  );
}
