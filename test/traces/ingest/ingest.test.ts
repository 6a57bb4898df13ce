import { env } from "cloudflare:workers";
import { zstdCompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { isoFromMicros } from "../../../src/traces/time.ts";
import { newCaller, send } from "../../support/caller.ts";
import {
  compress,
  DAY,
  multipart,
  NOON,
  projectId,
  resolvePayloads,
  runParts,
  sendMultipart,
  sentRun,
  readStoredRuns,
} from "../../support/traces.ts";

interface Answer {
  taken: number;
  rejected: number;
  errors: { id: string | null; message: string }[];
}

const root = (more = {}) =>
  sentRun(NOON, { end_time: NOON / 1000 + 1500, inputs: { q: "hi" }, outputs: { a: "ho" }, ...more });

describe("multipart", () => {
  it("stores a tree as it was sent, gzip or not", async () => {
    for (const encoding of [undefined, "gzip"] as const) {
      const caller = await newCaller();
      const parent = root({ tags: ["outer"], extra: { metadata: { thread_id: "t-1" } } });
      const child = sentRun(
        NOON + 2002,
        { run_type: "llm", error: "Error: boom", events: [{ name: "new_token", time: "2026-11-20T15:49:54.300Z" }] },
        parent,
      );
      const response = await sendMultipart(caller, [...runParts("post", parent), ...runParts("post", child)], {
        encoding,
      });
      expect(response.status).toBe(202);
      expect(await response.json<Answer>()).toMatchObject({ taken: 2, rejected: 0, errors: [] });
      const runs = await readStoredRuns(caller);
      expect(runs).toMatchObject([
        {
          id: parent.id,
          trace_id: parent.id,
          parent_run_ids: [],
          is_root: true,
          status: "success",
          start_time: NOON,
          end_time: NOON + 1_500_000,
          inputs: '{"q":"hi"}',
          outputs: '{"a":"ho"}',
          tags: ["outer"],
          dotted_order: parent.dotted_order,
          trace_tier: "longlived",
        },
        {
          id: child.id,
          trace_id: parent.id,
          parent_run_id: parent.id,
          parent_run_ids: [parent.id],
          is_root: false,
          status: "error",
          error: "Error: boom",
          first_token_time: Date.UTC(2026, 10, 20, 15, 49, 54, 300) * 1000,
        },
      ]);
    }
  });

  it.each(["/runs", "/runs/batch"])("gives a run an id that has none: %s", async (path) => {
    const caller = await newCaller();
    const run = { name: "unnamed", run_type: "chain", inputs: {}, start_time: NOON / 1000, session_name: "tests" };
    const send = (one: object) => caller.fetch(path, { body: path === "/runs" ? one : { post: [one] } });
    expect((await send(run)).status).toBe(202);
    expect((await send({ ...run, id: null })).status).toBe(202);
    await send({ ...run, id: "no id" });
    const body = { session: [await projectId(caller)] };
    const { runs } = await (await caller.fetch("/api/v1/runs/query", { body })).json<{ runs: { id: string }[] }>();
    expect(new Set(runs.map(({ id }) => id)).size).toBe(2);
  });

  it("takes zstd bodies", async () => {
    const caller = await newCaller();
    const response = await caller.fetch("/runs/multipart", {
      method: "POST",
      body: new Uint8Array(zstdCompressSync(multipart(runParts("post", root())))),
      headers: {
        "content-type": "multipart/form-data; boundary=----LangSmithFormBoundaryabc",
        "content-encoding": "zstd",
      },
    });
    expect(response.status).toBe(202);
    expect(await readStoredRuns(caller)).toHaveLength(1);
  });

  it("keeps attachments byte for byte", async () => {
    const caller = await newCaller();
    const run = root();
    const bytes = Uint8Array.from({ length: 1024 }, (_, i) => (i * 7) & 255);
    await sendMultipart(caller, [
      { name: `attachment.${run.id}.picture`, type: "image/png", data: bytes },
      ...runParts("post", run),
    ]);
    const key = `traces/${caller.workspaceId}/${await projectId(caller)}/${DAY}/attachments/${run.id}/picture`;
    const object = await env.BLOBS.get(key);
    expect(new Uint8Array(await object!.arrayBuffer())).toEqual(bytes);
    expect(object!.httpMetadata?.contentType).toBe("image/png");
  });

  it("keeps large payloads whole, in R2", async () => {
    const caller = await newCaller();
    const text = "é".repeat(200_000);
    await sendMultipart(caller, runParts("post", root({ inputs: { text } })));
    const [run] = await readStoredRuns(caller);
    expect(run?.inputs).toBeNull();
    expect(run?.large?.inputs?.bytes).toBe(400_011);
    const [whole] = await resolvePayloads([run!]);
    expect(JSON.parse(whole!.inputs!)).toEqual({ text });
  });
});

describe("merging", () => {
  it("keeps a stated start beside a dotted_order of another time, in any order", async () => {
    const moved = NOON + 3_600_000_000;
    const run = sentRun(NOON);
    const { start_time: _, ...placed } = run;
    const states = ["post", { ...run }] as const;
    const moves = ["patch", { ...run, start_time: isoFromMicros(moved) }] as const;
    const places = ["patch", { ...placed, outputs: {} }] as const;
    for (const [order, start] of [
      [[states, moves, places], moved],
      [[places, states, moves], moved],
      [[moves, places, states], moved],
      [[["post", placed], places], NOON],
      [[places, ["post", { ...run, start_time: isoFromMicros(NOON + 5) }]], NOON + 5],
      [[["post", { ...run, start_time: isoFromMicros(NOON + 5) }], places], NOON + 5],
    ] as const) {
      const caller = await newCaller();
      for (const [kind, sent] of order) await sendMultipart(caller, runParts(kind, sent));
      expect((await readStoredRuns(caller)).map(({ start_time }) => start_time)).toEqual([start]);
    }
  });

  it("takes an empty extra for none, in any order", async () => {
    for (const order of [
      ["post", "patch"],
      ["patch", "post"],
    ] as const) {
      const caller = await newCaller();
      const run = root({ extra: { metadata: { topic: "art" }, runtime: { sdk: "one" } } });
      for (const kind of order)
        await sendMultipart(caller, runParts(kind, kind === "post" ? run : { ...run, extra: {} }));
      const [stored] = await readStoredRuns(caller);
      expect(JSON.parse(stored?.extra ?? "")).toEqual(run.extra);
    }
  });

  it("finds the run of a patch that says neither project nor time", async () => {
    const caller = await newCaller();
    const run = root({ end_time: undefined, outputs: undefined, session_name: "elsewhere" });
    await caller.fetch("/api/v1/runs", { body: run });
    const patched = await caller.fetch(`/api/v1/runs/${run.id}`, {
      method: "PATCH",
      body: { outputs: { a: 1 }, end_time: NOON / 1000 + 1 },
    });
    expect(patched.status).toBe(202);
    expect(await readStoredRuns(caller, "elsewhere")).toMatchObject([{ outputs: '{"a":1}', status: "success" }]);
  });
});

describe("tokens and costs", () => {
  const usage = {
    input_tokens: 1000,
    output_tokens: 500,
    total_tokens: 1500,
    input_token_details: { cache_read: 200 },
  };
  const model = { ls_provider: "openai", ls_model_name: "gpt-4o-2024-08-06" };

  it("adds up what models report below a run, once", async () => {
    const caller = await newCaller();
    const top = root();
    const step = sentRun(NOON + 1000, { outputs: { usage_metadata: usage } }, top);
    const first = sentRun(
      NOON + 2000,
      { run_type: "llm", outputs: { usage_metadata: usage }, extra: { metadata: model } },
      step,
    );
    const second = sentRun(NOON + 3000, { run_type: "llm", outputs: { usage_metadata: usage } }, top);
    for (const run of [second, first, step, top]) await sendMultipart(caller, runParts("post", run));
    const cost = (800 * 2.5 + 200 * 1.25 + 500 * 10) / 1e6;
    expect(await readStoredRuns(caller)).toMatchObject([
      { total_tokens: 3000, prompt_tokens: 2000, completion_tokens: 1000, total_cost: cost },
      { total_tokens: 1500, total_cost: cost },
      { total_tokens: 1500, total_cost: cost },
      { total_tokens: 1500, total_cost: null },
    ]);
  });
});

describe("bad input", () => {
  const headers = { "content-type": "multipart/form-data; boundary=----LangSmithFormBoundaryabc" };
  const whole = multipart(runParts("post", root()));
  const cases: [name: string, status: number, body: Uint8Array, headers?: Record<string, string>][] = [
    ["a truncated body", 400, whole.subarray(0, whole.length - 30)],
    ["no boundary in the body", 400, Buffer.from("nothing of the kind")],
    ["no boundary in the header", 400, whole, { "content-type": "multipart/form-data" }],
    ["another content type", 415, whole, { "content-type": "application/json" }],
    ["an unknown encoding", 415, whole, { ...headers, "content-encoding": "br" }],
    ["gzip that is none", 400, whole, { ...headers, "content-encoding": "gzip" }],
    ["zstd that is none", 400, whole, { ...headers, "content-encoding": "zstd" }],
    ["headers without an end", 400, Buffer.from(`------LangSmithFormBoundaryabc\r\n${"x".repeat(20_000)}`)],
    ["an empty body", 400, new Uint8Array()],
  ];

  it.each(cases)("answers %s with %d", async (_name, status, body, sent = headers) => {
    const caller = await newCaller();
    const response = await caller.fetch("/runs/multipart", { method: "POST", body, headers: sent });
    expect(response.status).toBe(status);
    expect((await response.json<{ detail: string }>()).detail.length).toBeGreaterThan(20);
  });

  it("stops at a zip bomb", async () => {
    const caller = await newCaller();
    const bomb = await compress(new Uint8Array(60 * 1024 * 1024));
    expect(bomb.byteLength).toBeLessThan(100_000);
    for (const [encoding, body] of [
      ["gzip", bomb],
      ["zstd", new Uint8Array(zstdCompressSync(new Uint8Array(60 * 1024 * 1024)))],
    ] as const) {
      const response = await caller.fetch("/runs/multipart", {
        method: "POST",
        body,
        headers: { ...headers, "content-encoding": encoding },
      });
      expect(response.status).toBe(413);
    }
  });

  it("takes the rest of a batch with odd parts, and names each of them", async () => {
    const caller = await newCaller();
    const good = root();
    const odd = root({ id: crypto.randomUUID() });
    const response = await sendMultipart(caller, [
      ...runParts("post", good),
      { name: "post.not-an-id", data: "{}" },
      { name: `post.${odd.id}.inputs`, data: "{broken" },
      { name: `post.${odd.id}.colour`, data: "1" },
      { name: `post.${odd.id}`, data: "[]" },
      { name: "something", data: "else" },
    ]);
    expect(response.status).toBe(202);
    const answer = await response.json<Answer>();
    expect(answer).toMatchObject({ taken: 1, rejected: 5 });
    expect(answer.errors).toHaveLength(5);
    expect(await readStoredRuns(caller)).toMatchObject([{ id: good.id }]);
  });

  it("ignores false lengths and repairs invalid UTF-8", async () => {
    const caller = await newCaller();
    const run = root({ name: "NAME" });
    const text = Buffer.from(multipart(runParts("post", run)))
      .toString("latin1")
      .replaceAll(/length=\d+/g, "length=3");
    const body = Buffer.from(text.replace("NAME", "N\xffME"), "latin1");
    const response = await caller.fetch("/runs/multipart", { method: "POST", body: new Uint8Array(body), headers });
    expect(response.status).toBe(202);
    expect(await readStoredRuns(caller)).toMatchObject([{ name: "N\ufffdME" }]);
  });

  it("takes 10,000 parts and refuses 30,000", async () => {
    const caller = await newCaller();
    const parts = (count: number) => Array.from({ length: count }, () => ({ name: "x", data: "1" }));
    const run = runParts("post", root());
    expect((await sendMultipart(caller, [...run, ...parts(10_000)])).status).toBe(202);
    expect((await sendMultipart(caller, [...run, ...parts(30_000)])).status).toBe(413);
  });

  it("leaves out a dotted_order that contradicts the ids, and says so", async () => {
    const caller = await newCaller();
    const run = root();
    const response = await sendMultipart(
      caller,
      runParts("post", { ...run, dotted_order: sentRun(NOON).dotted_order }),
    );
    expect((await response.json<Answer>()).errors).toMatchObject([
      { id: run.id, message: expect.stringContaining("dotted_order") },
    ]);
    expect(await readStoredRuns(caller)).toMatchObject([
      { id: run.id, trace_id: run.id, dotted_order: run.dotted_order },
    ]);
  });

  it("stores runs of other years in their own days", async () => {
    const caller = await newCaller();
    const years = [Date.UTC(1999, 0, 1) * 1000, Date.UTC(2199, 5, 5) * 1000];
    for (const start of years) await sendMultipart(caller, runParts("post", sentRun(start)));
    expect(await readStoredRuns(caller, "tests", "1999-01-01")).toHaveLength(1);
    expect(await readStoredRuns(caller, "tests", "2199-06-05")).toHaveLength(1);
  });

  it("survives values that are no runs", async () => {
    const caller = await newCaller();
    const odd: unknown[] = [
      null,
      1,
      [],
      {},
      { id: 5 },
      { id: "x" },
      {
        ...root(),
        start_time: {},
        end_time: "never",
        tags: "a",
        extra: 7,
        events: {},
        name: { a: 1 },
        dotted_order: 9,
      },
    ];
    const response = await caller.fetch("/api/v1/runs/batch", { body: { post: odd, patch: odd } });
    expect(response.status).toBe(202);
    const answer = await response.json<Answer>();
    expect(answer).toMatchObject({ taken: 2, rejected: 12 });
  });
});

describe("who may send", () => {
  it("refuses without a key and with a wrong one", async () => {
    expect((await send("/runs/multipart", { method: "POST", body: "" })).status).toBe(401);
    expect(
      (await send("/runs/multipart", { method: "POST", body: "", headers: { "x-api-key": "weir_wrong" } })).status,
    ).toBe(401);
  });

  it("does not let one workspace write into another's project", async () => {
    const mine = await newCaller();
    const theirs = await newCaller();
    await sendMultipart(theirs, runParts("post", root()));
    const foreign = await projectId(theirs);
    const response = await sendMultipart(
      mine,
      runParts("post", { ...root(), session_name: undefined, session_id: foreign }),
    );
    expect([response.status, await response.text()]).toEqual([422, expect.stringContaining("no such project")]);
    expect(await readStoredRuns(theirs)).toHaveLength(1);
  });
});

describe("a run_type", () => {
  it("that is not known is refused, and only with nothing else the whole request", async () => {
    const caller = await newCaller();
    const odd = root({ run_type: "agent" });
    const alone = await sendMultipart(caller, runParts("post", odd));
    expect(alone.status).toBe(422);
    const message = "run_type: expected one of llm, chain, tool, retriever, embedding, prompt, parser";
    expect(await alone.json()).toMatchObject({
      detail: `No run was taken: ${message}.`,
      errors: [{ path: odd.id, message }],
    });
    const single = await caller.fetch("/runs", { body: odd });
    expect([single.status, await single.text()]).toEqual([422, expect.stringContaining(message)]);
    const good = root();
    const mixed = await sendMultipart(caller, [...runParts("post", odd), ...runParts("post", good)]);
    expect(mixed.status).toBe(202);
    expect(await mixed.json<Answer>()).toMatchObject({ taken: 1, rejected: 1, errors: [{ id: odd.id, message }] });
    expect(await readStoredRuns(caller)).toMatchObject([{ id: good.id }]);
  });

  it("is taken as the second generation of queries shows it", async () => {
    const caller = await newCaller();
    const run = root({ run_type: "LLM" });
    expect((await sendMultipart(caller, runParts("post", run))).status).toBe(202);
    expect(await readStoredRuns(caller)).toMatchObject([{ id: run.id, run_type: "llm" }]);
  });
});
