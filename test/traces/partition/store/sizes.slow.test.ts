/** Payloads around the limits of the platform: a row holds 2 MB, and a character of UTF-8 up to four bytes. */
import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { SLOTS, slotColumn } from "../../../../src/traces/partition/store/payloads.ts";
import { PACKED_COLUMNS, PAYLOAD_COLUMNS, RUN_COLUMNS } from "../../../../src/traces/partition/store/tables.ts";
import { type Caller, newCaller } from "../../../support/caller.ts";
import {
  DAY,
  type MultipartPart,
  NOON,
  projectId,
  runParts,
  sendMultipart,
  type Sent,
  sentRun,
} from "../../../support/traces.ts";

const ROW = 2_000_000;
const SLOT_COLUMNS = SLOTS.flatMap((slot) => PACKED_COLUMNS.map((column) => slotColumn(column, slot)));
const MB = 1_000_000;
/** A text of this many bytes, of characters of one or three bytes. */
const TEXTS = {
  ASCII: (bytes: number) => "x".repeat(bytes),
  "three-byte characters": (bytes: number) => "文".repeat(Math.floor(bytes / 3)),
};
/** A value of each heavy field that holds a text. */
const FIELDS: Record<string, (text: string) => unknown> = {
  inputs: (text) => ({ messages: [{ content: text }] }),
  outputs: (text) => ({ answer: text }),
  error: (text) => text,
  events: (text) => [{ name: "event", kwargs: { text } }],
  extra: (text) => ({ metadata: { note: text, user: "ann" }, runtime: { sdk: "x" } }),
  serialized: (text) => ({ kwargs: { prompt: text } }),
};

interface Answer {
  taken: number;
  rejected: number;
  errors: { id: string; message: string }[];
}

async function readRun(caller: Caller, id: string): Promise<Record<string, unknown>> {
  const response = await caller.fetch(`/api/v1/runs/${id}`);
  expect(response.status).toBe(200);
  return response.json();
}

/** The bytes of the longest row of runs, of payloads and of packs. */
async function longestRows(caller: Caller): Promise<number[]> {
  const stub = env.TRACE_PARTITION.getByName(`${caller.workspaceId}/${await projectId(caller)}/${DAY}`);
  const size = (columns: readonly string[]) =>
    columns.map((name) => `coalesce(length(CAST(${name} AS BLOB)), 0)`).join(" + ");
  return runInDurableObject(stub, (_, { storage }) =>
    Object.entries({ runs: RUN_COLUMNS, payloads: PAYLOAD_COLUMNS, packs: SLOT_COLUMNS }).map(
      ([table, columns]) =>
        storage.sql.exec<{ n: number }>(`SELECT coalesce(max(${size(columns)}), 0) AS n FROM ${table}`).one().n,
    ),
  );
}

/** The project still takes a run, shows it and finds it. */
async function expectWorks(caller: Caller): Promise<void> {
  for (const size of await longestRows(caller)) expect(size).toBeLessThan(ROW);
  const run = sentRun(NOON + 5, { name: "afterwards" });
  expect((await sendMultipart(caller, runParts("post", run))).status).toBe(202);
  const found = await caller.fetch("/runs/query", {
    body: { session: [await projectId(caller)], filter: 'eq(name, "afterwards")', select: ["id"] },
  });
  expect((await found.json<{ runs: { id: string }[] }>()).runs.map(({ id }) => id)).toEqual([run.id]);
}

const post = (more: Record<string, unknown>) => sentRun(NOON, { end_time: NOON / 1000 + 5, ...more });

describe.each(Object.entries(TEXTS))("payloads of %s", (_name, makeText) => {
  it.each([2.1, 1, 1.9, 8])("of %f MB are returned as they were sent, in each field", async (size) => {
    const caller = await newCaller();
    const text = makeText(size * MB);
    for (const [field, makeValue] of Object.entries(FIELDS)) {
      const run = post({ [field]: makeValue(text) });
      const response = await sendMultipart(caller, runParts("post", run));
      expect(response.status).toBe(202);
      expect(await response.json<Answer>()).toMatchObject({ taken: 1, rejected: 0, errors: [] });
      expect((await readRun(caller, run.id))[field]).toEqual(makeValue(text));
    }
    await expectWorks(caller);
  });

  it.each([0.24, 1])("of %f MB in all fields at once, by post and patch, are returned", async (size) => {
    const caller = await newCaller();
    const text = makeText(size * MB);
    const [{ id, ...run }, patch] = [post({}), {}] as [Sent, object];
    const heavy = Object.fromEntries(Object.entries(FIELDS).map(([field, makeValue]) => [field, makeValue(text)]));
    const { inputs, serialized, extra, ...rest } = heavy;
    const { trace_id, dotted_order, session_name } = run;
    const tags = Array.from({ length: 200 }, (_, i) => `${i} ${makeText(490)}`.slice(0, 500));
    const placed = { id, trace_id, dotted_order, session_name };
    for (const [kind, sent] of [
      ["post", { id, ...run, inputs, serialized, extra, tags }],
      ["patch", { ...placed, ...patch, ...rest, extra, tags }],
    ] as const) {
      expect((await sendMultipart(caller, runParts(kind, sent))).status).toBe(202);
    }
    expect(await readRun(caller, id)).toMatchObject(heavy);
    await expectWorks(caller);
  });
});

describe("a run as one JSON text", () => {
  it.each(Object.keys(TEXTS) as (keyof typeof TEXTS)[])("holds large payloads of %s", async (name) => {
    const caller = await newCaller();
    const text = TEXTS[name](2.1 * MB);
    const heavy = Object.fromEntries(Object.entries(FIELDS).map(([field, makeValue]) => [field, makeValue(text)]));
    const { extra, ...others } = heavy;
    const single = post({ ...others, name: 'quo"te \\ and {[' });
    expect((await caller.fetch("/api/v1/runs", { body: single })).status).toBe(202);
    expect(await readRun(caller, single.id)).toMatchObject({ ...others, name: 'quo"te \\ and {[' });
    const batched = [post({ inputs: heavy["inputs"] }), post({ extra, outputs: { small: 1 } })];
    const response = await caller.fetch("/runs/batch", { body: { post: batched, patch: null } });
    expect(await response.json<Answer>()).toMatchObject({ taken: 2, rejected: 0 });
    expect(await readRun(caller, batched[0]!.id)).toMatchObject({ inputs: heavy["inputs"] });
    expect(await readRun(caller, batched[1]!.id)).toMatchObject({ extra, outputs: { small: 1 } });
    await expectWorks(caller);
  });

  it("with escapes and invalid UTF-8 becomes what it means", async () => {
    const caller = await newCaller();
    const run = post({ inputs: { a: "A\u2028" + "x".repeat(400_000) } });
    const json = JSON.stringify(run).replace('"a":"A', '"a":"\\u0041\u00ff');
    const bytes = Buffer.from(json.replace("\u00ff", "~"));
    bytes[bytes.indexOf("~")] = 0xff;
    expect((await caller.fetch("/api/v1/runs", { method: "POST", body: new Uint8Array(bytes) })).status).toBe(202);
    expect((await readRun(caller, run.id))["inputs"]).toEqual({ a: `A\ufffd\u2028${"x".repeat(400_000)}` });
  });
});

describe("what is too large", () => {
  it("is left out of a batch, named, and refused as a single run", async () => {
    const caller = await newCaller();
    const run = post({ inputs: { text: TEXTS.ASCII(11 * 1024 * 1024) }, outputs: { small: 1 } });
    const response = await sendMultipart(caller, runParts("post", run));
    const answer = await response.json<Answer>();
    expect(answer).toMatchObject({ taken: 1, rejected: 1 });
    expect(answer.errors[0]).toEqual({ id: run.id, message: "inputs: larger than 10485760 bytes" });
    expect(await readRun(caller, run.id)).toMatchObject({ inputs: {}, outputs: { small: 1 } });
    const single = await caller.fetch("/api/v1/runs", { body: post({ inputs: run["inputs"] }) });
    expect(single.status).toBe(422);
    expect((await single.json<{ detail: string }>()).detail).toContain("inputs: larger than");
    await expectWorks(caller);
  });

  it("is passed over as a part, and the parts beside it are taken", async () => {
    const caller = await newCaller();
    const run = post({});
    const huge: MultipartPart = {
      name: `attachment.${run.id}.video`,
      type: "video/mp4",
      data: new Uint8Array(21 * 1024 * 1024),
    };
    const fits: MultipartPart = {
      name: `attachment.${run.id}.sound`,
      type: "audio/mpeg",
      data: new Uint8Array(19 * 1024 * 1024),
    };
    for (const [part, rejected] of [
      [huge, 1],
      [fits, 0],
    ] as const) {
      const response = await sendMultipart(caller, [part, ...runParts("post", run)]);
      expect(await response.json<Answer>()).toMatchObject({ taken: 1, rejected });
    }
    const [object] = (await env.BLOBS.list({ prefix: `traces/${caller.workspaceId}/` })).objects;
    expect(object?.size).toBe(19 * 1024 * 1024);
  });

  it("in number is a 4xx: values, runs, names, projects", async () => {
    const caller = await newCaller();
    const bomb = post({ inputs: { list: Array.from({ length: 400_000 }, () => []) } });
    const answer = await (await sendMultipart(caller, runParts("post", bomb))).json<Answer>();
    expect(answer.errors[0]?.message).toBe("inputs: holds more than 300000 values");
    const many = Array.from({ length: 10_001 }, () => ({ id: crypto.randomUUID() }));
    expect((await caller.fetch("/runs/batch", { body: { post: many } })).status).toBe(413);
    const name = { name: `attachment.${bomb.id}.${"文".repeat(150)}`, data: "x" };
    expect((await (await sendMultipart(caller, [name])).json<Answer>()).errors[0]?.message).toContain("attachment:");
    const projects = Array.from({ length: 120 }, (_, i) => post({ session_name: `project ${i}` }));
    const spread = await caller.fetch("/runs/batch", { body: { post: projects } });
    expect(await spread.json<Answer>()).toMatchObject({ taken: 100, rejected: 20 });
  });
});

describe("small things that add up", () => {
  it("stay within the row: patches of extra, attachments, tags, keys, comments", async () => {
    const caller = await newCaller();
    const run = post({});
    const { id, trace_id, dotted_order, session_name } = run;
    const makeWide = (seed: number) =>
      Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`k${seed}-${i}`, "文".repeat(2_000)]));
    await sendMultipart(caller, runParts("post", { ...run, extra: { metadata: makeWide(0) } }));
    for (let i = 1; i <= 4; i++) {
      const extra = { metadata: makeWide(i), last: i };
      const parts = runParts("patch", { id, trace_id, dotted_order, session_name, extra });
      for (let n = 0; n < 60; n++) parts.push({ name: `attachment.${id}.${i}-${n}-${"ä".repeat(100)}`, data: "x" });
      expect((await sendMultipart(caller, parts)).status).toBe(202);
    }
    const stored = await readRun(caller, id);
    expect(stored["extra"]).toMatchObject({ last: 4, metadata: { "k4-39": "文".repeat(2_000) } });
    const key = "\u0001".repeat(200_000);
    await sendMultipart(
      caller,
      runParts(
        "post",
        post({
          inputs: { [key]: "x" },
          outputs: { [key]: "x" },
          tags: Array.from({ length: 200 }, (_, i) => `${i}${key}`),
        }),
      ),
    );
    for (let i = 0; i < 18; i++) {
      const comment = "文".repeat(50_000);
      const given = await caller.fetch("/feedback", {
        body: { run_id: id, key: `key ${i % 3}`, comment, value: `${i} ${comment.slice(0, 20_000)}` },
      });
      expect(given.status).toBe(200);
    }
    const stats = (await readRun(caller, id))["feedback_stats"] as Record<string, { n: number; comments: string[] }>;
    expect(stats["key 0"]).toMatchObject({ n: 6 });
    await expectWorks(caller);
  });
});
