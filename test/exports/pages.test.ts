/** Pages of a real partition, from ingest to the rows of a file. */
import { env } from "cloudflare:workers";
import { parquetReadObjects } from "hyparquet";
import { ByteWriter } from "hyparquet-writer";
import { describe, expect, it } from "vitest";
import { EXPORT_FIELDS, type ExportField } from "../../src/exports/parquet/columns.ts";
import { RunFile } from "../../src/exports/parquet/parquet.ts";
import { type PageRequest, resolveColumn, type RunPage } from "../../src/traces/columns.ts";
import { tracePartition } from "../../src/traces/stub.ts";
import type { RunPosition } from "../../src/traces/types.ts";
import { dayBounds } from "../../src/traces/time.ts";
import { type Caller, newCaller } from "../support/caller.ts";
import { columnValue } from "../support/pages.ts";
import {
  DAY,
  NOON,
  projectId,
  resolvePayloads,
  runParts,
  sendMultipart,
  sentRun,
  readStoredRuns,
} from "../support/traces.ts";

const { start, end } = dayBounds(DAY);
const MICROSECONDS = { timestampFromMicroseconds: (micros: bigint) => micros };

/** Runs of the same and of different times, with nulls, other scripts, characters that JSON escapes, a large payload in every field, and feedback. */
async function createFilled(): Promise<Caller> {
  const caller = await newCaller();
  const large = { text: "é水🌊".repeat(60_000) };
  const root = sentRun(NOON, {
    inputs: { q: "" },
    outputs: { a: "水" },
    tags: ["a", "été 🌊"],
    end_time: NOON / 1000 + 7,
  });
  const runs = [
    root,
    sentRun(NOON, { inputs: large, outputs: large, extra: { metadata: { large: large.text } }, events: [large] }, root),
    sentRun(NOON, { error: "boom".repeat(70_000), run_type: "llm" }, root),
    ...Array.from({ length: 30 }, (_, i) =>
      sentRun(NOON + Math.floor(i / 3) * 1000, { inputs: { i }, name: `n${i}\u0000"\\é`, error: `e\u0000${i}` }, root),
    ),
  ];
  await sendMultipart(
    caller,
    runs.flatMap((run) => runParts("post", run)),
  );
  const body = JSON.stringify({ run_id: root.id, key: "thumb", score: 1 });
  const answer = await caller.fetch("/api/v1/feedback", {
    method: "POST",
    body,
    headers: { "content-type": "application/json" },
  });
  expect(answer.ok).toBe(true);
  return caller;
}

async function readPages(caller: Caller, more: Partial<PageRequest>): Promise<RunPage[]> {
  const partition = tracePartition(env, caller.workspaceId, { projectId: await projectId(caller), day: DAY, shard: 0 });
  const pages: RunPage[] = [];
  let after: RunPosition | null = null;
  for (;;) {
    const bounds = { startTime: start, endTime: end, limit: 1000, maxBytes: 1e9 };
    const page = await partition.readPage({ ...bounds, fields: EXPORT_FIELDS, ...more, after });
    if (!page) return pages;
    pages.push(page);
    if (page.done) return pages;
    after = page.next;
  }
}

function withoutFeedbacks({ feedbacks, ...row }: Record<string, unknown>): Record<string, unknown> {
  expect(feedbacks).toBeDefined();
  return row;
}

async function readRows(pages: RunPage[], fields: readonly ExportField[] = EXPORT_FIELDS) {
  const sink = new ByteWriter();
  const file = new RunFile(sink, fields, "snappy");
  for (const page of pages) await file.add(page, (from, field) => resolveColumn(env.BLOBS, from, field));
  await file.finish();
  return parquetReadObjects({ file: sink.getBuffer(), parsers: MICROSECONDS });
}

describe("pages of a partition", () => {
  it.for([
    { limit: 1000, maxBytes: 1e9, count: 1 },
    { limit: 4, maxBytes: 1e9, count: 9 },
    { limit: 1000, maxBytes: 1, count: 33 },
  ])("hold every run once and whole, however they are cut: %o", async ({ count, ...bounds }) => {
    const caller = await createFilled();
    const pages = await readPages(caller, bounds);
    expect(pages.length).toBe(count);
    const runs = await resolvePayloads(await readStoredRuns(caller));
    const expected = runs.map((run) =>
      Object.fromEntries(EXPORT_FIELDS.map((field) => [field, columnValue(run, field)])),
    );
    const rows = await readRows(pages);
    expect(rows.map(withoutFeedbacks)).toEqual(expected.map(withoutFeedbacks));
    const given = rows.map((row) => row["feedbacks"]).filter((feedbacks) => feedbacks !== null);
    expect(given.map((json) => JSON.parse(json as string))).toMatchObject([[{ key: "thumb", score: 1 }]]);
    const outputs = runs.filter((run) => (run.outputs?.length ?? 0) > 200_000);
    expect(outputs.length).toBe(1);
  });

  it("have only the asked fields of the runs that pass the filter", async () => {
    const caller = await createFilled();
    const fields = ["id", "error"] as const;
    const pages = await readPages(caller, { fields, filter: 'eq(run_type, "llm")' });
    const read = pages.map(({ light, unique, payloads }) => [light, unique, payloads].map((part) => Object.keys(part)));
    expect(read).toEqual([[[], ["id"], ["error"]]]);
    const rows = await readRows(pages, fields);
    expect(rows).toMatchObject([{ error: "boom".repeat(70_000) }]);
  });

  it("end by the size of light fields too", async () => {
    const caller = await newCaller();
    const tags = Array.from({ length: 200 }, (_, i) => `${i}`.padEnd(500, "x"));
    const runs = Array.from({ length: 20 }, (_, i) => sentRun(NOON + i * 1000, { tags }));
    await sendMultipart(
      caller,
      runs.flatMap((run) => runParts("post", run)),
    );
    const pages = await readPages(caller, { fields: ["id", "tags"], maxBytes: 500_000 });
    expect(pages.map(({ rows }) => rows)).toEqual([5, 5, 5, 5]);
  });

  it("give nothing of a partition without writes, and an end where nothing is left", async () => {
    const caller = await createFilled();
    const unwritten = tracePartition(env, caller.workspaceId, { projectId: crypto.randomUUID(), day: DAY, shard: 0 });
    const request = { after: null, startTime: start, endTime: end, limit: 10, maxBytes: 1e6, fields: EXPORT_FIELDS };
    expect(await unwritten.readPage(request)).toBeUndefined();
    expect(await readPages(caller, { startTime: NOON + 1e9 })).toMatchObject([{ rows: 0, next: null, done: true }]);
  });
});
