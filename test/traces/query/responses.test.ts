/** Answers whose large payloads are streamed from R2. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { runsResponse, placeholder } from "../../../src/traces/query/responses.ts";
import { newCaller } from "../../support/caller.ts";
import { NOON, projectId, runParts, sendMultipart, sentRun } from "../../support/traces.ts";

/** R2 with these objects, in chunks of three bytes, that counts what is read of it. */
function bucket(objects: Record<string, string>) {
  const read = { gets: 0, open: 0, most: 0 };
  const get = async (key: string) => {
    read.gets++;
    const text = objects[key];
    if (text === undefined) return null;
    read.most = Math.max(read.most, ++read.open);
    const bytes = new TextEncoder().encode(text);
    let at = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (at < bytes.byteLength) return controller.enqueue(bytes.slice(at, (at += 3)));
        read.open--;
        controller.close();
      },
    });
    return { body };
  };
  return { blobs: { get } as unknown as R2Bucket, read };
}

describe("an answer", () => {
  const hard = 'He said "no" \\ and\n\ttook 水 🌊 \u0001 home\u2028';

  it("has payloads in the places of their placeholders, one after the other", async () => {
    const { blobs, read } = bucket({ a: JSON.stringify({ hard, list: [1, 2] }), b: hard, c: "[]" });
    const at = (field: "inputs" | "events", key: string) => JSON.parse(placeholder(field, key)) as unknown;
    const response = runsResponse(blobs, {
      runs: [
        { inputs: at("inputs", "a"), error: placeholder("error", "b"), name: hard },
        { inputs: at("inputs", "a"), events: at("events", "c"), outputs: at("inputs", "gone") },
      ],
    });
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toEqual({
      runs: [
        { inputs: { hard, list: [1, 2] }, error: hard, name: hard },
        { inputs: { hard, list: [1, 2] }, events: [], outputs: null },
      ],
    });
    expect(read).toEqual({ gets: 5, open: 0, most: 1 });
  });

  it("reads no more of R2 than is taken from it", async () => {
    const { blobs, read } = bucket({ a: JSON.stringify("x".repeat(100_000)), b: "{}" });
    const value = [JSON.parse(placeholder("inputs", "a")), JSON.parse(placeholder("inputs", "b"))] as unknown[];
    const reader = runsResponse(blobs, value).body!.getReader();
    for (let i = 0; i < 5; i++) await reader.read();
    expect(read.gets).toBe(1);
    await reader.cancel();
    expect(read.gets).toBe(1);
  });
});

describe("runs with large payloads", () => {
  it("show previews, metadata and whole payloads in both generations", async () => {
    const caller = await newCaller();
    const text = `${'"quoted" \\ '.repeat(30_000)}水`;
    const values = { inputs: { question: text }, error: text, extra: { metadata: { note: text, user: "ann" } } };
    const run = sentRun(NOON, { ...values, serialized: { prompt: text } });
    await sendMultipart(caller, runParts("post", run));
    const session = await projectId(caller);
    const first = await caller.fetch("/runs/query", { body: { session: [session] } });
    expect((await first.json<{ runs: object[] }>()).runs[0]).toMatchObject({ ...values, serialized: { prompt: text } });
    const selects = ["INPUTS", "INPUTS_PREVIEW", "ERROR_PREVIEW", "METADATA", "MANIFEST"];
    const body = { project_ids: [session], min_start_time: "2026-11-20T00:00:00Z", selects };
    const second = await caller.fetch("/api/v2/runs/query", { body });
    expect((await second.json<{ items: object[] }>()).items[0]).toMatchObject({
      inputs: values.inputs,
      inputs_preview: text.slice(0, 250),
      error_preview: text.slice(0, 300),
      metadata: values.extra.metadata,
      manifest: { prompt: text },
    });
  });

  it("are listed by their previews without a look into R2", async () => {
    const caller = await newCaller();
    const run = sentRun(NOON, { inputs: { question: "x".repeat(300_000) } });
    await sendMultipart(caller, runParts("post", run));
    const { objects } = await env.BLOBS.list({ prefix: `traces/${caller.workspaceId}/` });
    await env.BLOBS.delete(objects.map(({ key }) => key));
    const body = { session: [await projectId(caller)], select: ["inputs_preview"] };
    const listed = await (await caller.fetch("/runs/query", { body })).json<{ runs: object[] }>();
    expect(listed.runs[0]).toMatchObject({ inputs_preview: "x".repeat(250) });
    const gone = await (await caller.fetch(`/runs/${run.id}`)).json<{ inputs: unknown }>();
    expect(gone.inputs).toBeNull();
  });
});

describe("filters of a query", () => {
  it("that hold more values together than a statement binds are refused", async () => {
    const caller = await newCaller();
    await sendMultipart(caller, runParts("post", sentRun(NOON)));
    const session = [await projectId(caller)];
    const names = (n: number) => `and(${Array.from({ length: n }, (_, i) => `neq(name, "${i}")`).join(", ")})`;
    const entries = JSON.stringify(Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${i}`, i])));
    const has = `has(metadata, ${JSON.stringify(entries)})`;
    const cases: [body: object, status: number][] = [
      [{ filter: names(40), trace_filter: names(40) }, 200],
      [{ filter: names(50), trace_filter: names(20), tree_filter: names(20) }, 400],
      [{ filter: `and(${has}, ${has})` }, 200],
      [{ filter: `and(${has}, ${has}, ${has})` }, 400],
    ];
    for (const [body, status] of cases) {
      const response = await caller.fetch("/runs/query", { body: { session, ...body } });
      expect([body, response.status]).toEqual([body, status]);
    }
    const day = { start_time: "2026-11-20T00:00:00Z", end_time: "2026-11-21T00:00:00Z", session_id: session[0] };
    const job = { ...day, bulk_export_destination_id: crypto.randomUUID(), filter: `and(${has}, ${has}, ${has})` };
    expect((await caller.fetch("/api/v1/bulk-exports", { body: job })).status).toBe(400);
  });
});
