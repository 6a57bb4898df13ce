/** Traces, feedback, examples, items, crons and secrets of a workspace that encrypts: read as sent, and lost with their key. */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { tracePartition } from "../../../src/traces/stub.ts";
import { type Texts, readTexts } from "../../../src/traces/columns.ts";
import { type Caller, newCaller } from "../../support/caller.ts";

const SAID = "the vault is behind the painting";

let caller: Caller;
let first: string;
const run = {
  id: crypto.randomUUID(),
  name: "step",
  run_type: "chain",
  start_time: new Date().toISOString(),
  session_name: "p",
  inputs: { q: SAID },
  outputs: { a: SAID },
  error: SAID,
  extra: { runtime: { note: SAID }, metadata: { topic: "art" } },
  events: [{ name: "e", note: SAID }],
};
const feedback = { id: crypto.randomUUID(), comment: SAID, correction: { better: SAID } };
const large = { ...run, id: crypto.randomUUID(), inputs: { q: SAID + "x".repeat(300_000) } };
const ids: Record<string, string> = {};

const ask = async <T>(path: string, body?: unknown, method?: string): Promise<T> => {
  const answer = await caller.fetch(path, { body, method });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
  return (text === "" ? undefined : JSON.parse(text)) as T;
};
const makeKey = async () => (await ask<{ id: string }>("/api/v1/encryption-keys", undefined, "POST")).id;

beforeAll(async () => {
  caller = await newCaller();
  first = await makeKey();
  await ask("/api/v1/runs/batch", { post: [run, large] });
  await ask("/api/v1/runs/batch", {
    patch: [{ ...run, end_time: run.start_time, extra: { runtime: { note: SAID }, metadata: { more: "m" } } }],
  });
  await ask("/api/v1/feedback", { ...feedback, run_id: run.id, trace_id: run.id, key: "k", score: 1 });
  await ask("/store/items", { namespace: ["n"], key: "k", value: { text: SAID } }, "PUT");
  const cron = { assistant_id: "echo", schedule: "0 0 1 1 *", input: { messages: [{ role: "user", content: SAID }] } };
  ids.cron = (await ask<{ cron_id: string }>("/runs/crons", cron)).cron_id;
  const { id } = await ask<{ id: string }>("/api/v1/datasets", { name: "set" });
  ids.example = (
    await ask<{ id: string }>("/api/v1/examples", { dataset_id: id, inputs: { q: SAID }, outputs: { a: SAID } })
  ).id;
  ids.share = (await ask<{ share_token: string }>(`/api/v1/runs/${run.id}/share`, {}, "PUT")).share_token;
});

const queryRuns = async (filter?: string) =>
  caller.fetch("/api/v1/runs/query", { body: { session: [], is_root: true, ...(filter && { filter }) } });
const session = async () => (await ask<{ id: string }[]>("/api/v1/sessions?name=p"))[0]?.id ?? "";

describe("content of a workspace that encrypts", () => {
  it("is read as it was sent", async () => {
    const read = await ask<Record<string, unknown>>(`/api/v1/runs/${run.id}`);
    const { inputs, outputs, error, extra, events } = read;
    expect({ inputs, outputs, error, events }).toEqual({
      inputs: run.inputs,
      outputs: run.outputs,
      error: SAID,
      events: run.events,
    });
    expect(extra).toMatchObject({ runtime: { note: SAID }, metadata: { topic: "art", more: "m" } });
    expect((await ask<{ inputs: unknown }>(`/api/v1/runs/${large.id}`)).inputs).toEqual(large.inputs);
    expect(await ask(`/api/v1/feedback/${feedback.id}`)).toMatchObject({
      comment: SAID,
      correction: feedback.correction,
    });
    expect(await ask("/store/items?namespace=n&key=k")).toMatchObject({ value: { text: SAID } });
    expect(JSON.stringify(await ask(`/runs/crons/${ids.cron}`))).toContain(SAID);
    expect(await ask(`/api/v1/examples/${ids.example}`)).toMatchObject({ inputs: { q: SAID }, outputs: { a: SAID } });
    expect(await ask(`/api/v1/runs/${run.id}/share`)).toMatchObject({ share_token: ids.share });
    const shared = await caller.fetch(`/public/${ids.share}/run`);
    expect(await shared.text()).toContain(SAID);
  });

  it("is found by metadata, also that of the post, and not by what it says", async () => {
    const projects = [await session()];
    const query = async (filter: string) => caller.fetch("/api/v1/runs/query", { body: { session: projects, filter } });
    for (const filter of [`has(metadata, '{"topic": "art"}')`, 'eq(name, "step")', 'search(name, "step")']) {
      const { runs } = await (await query(filter)).json<{ runs: unknown[] }>();
      expect([filter, runs.length]).toEqual([filter, 2]);
    }
    for (const filter of ['search("vault")', 'eq(error, "x")', 'eq(input_key, "q")', 'not(search(outputs, "a"))'])
      expect([filter, (await query(filter)).status]).toEqual([filter, 422]);
    for (const body of [
      { namespace_prefix: ["n"], query: "vault" },
      { namespace_prefix: ["n"], filter: { text: SAID } },
    ])
      expect((await caller.fetch("/store/items/search", { body })).status).toBe(422);
    expect(JSON.stringify(await ask("/store/items/search", { namespace_prefix: ["n"] }))).toContain(SAID);
  });

  it("is exported as it was sent", async () => {
    const place = { projectId: await session(), day: run.start_time.slice(0, 10), shard: 0 };
    const window = { after: null, startTime: 0, endTime: Number.MAX_SAFE_INTEGER, limit: 10, maxBytes: 10_000_000 };
    const fields = ["inputs", "error", "extra", "feedback_stats", "feedbacks"] as const;
    const page = await tracePartition(env, caller.workspaceId, place).readPage({ ...window, fields });
    const decoder = new TextDecoder();
    const texts = (field: "inputs" | "error" | "extra") =>
      [...readTexts(page?.payloads[field] as Texts)].map((bytes) => bytes && decoder.decode(bytes));
    expect(texts("inputs")).toContain(JSON.stringify(run.inputs));
    expect(texts("error")).toEqual([SAID, SAID]);
    expect(texts("extra").join("")).toContain(SAID);
    expect(page?.light.feedbacks).toContain(SAID);
    expect(page?.light.feedback_stats).not.toContain("\\u0002");
  });

  it("is lost with its key: lists and deletions work, and nothing is a 5xx", async () => {
    await makeKey();
    expect((await caller.fetch(`/api/v1/encryption-keys/${first}/destroy`, { body: { confirm: first } })).status).toBe(
      200,
    );
    const read = await ask<Record<string, unknown>>(`/api/v1/runs/${run.id}`);
    expect(read).toMatchObject({ inputs: {}, outputs: null, error: expect.stringContaining("destroyed") as string });
    expect(await ask(`/api/v1/feedback/${feedback.id}`)).toMatchObject({ comment: null, correction: null, score: 1 });
    expect((await queryRuns()).status).toBeLessThan(500);
    const item = await caller.fetch("/store/items?namespace=n&key=k");
    expect([item.status, await item.text()]).toEqual([410, expect.stringContaining("destroyed")]);
    expect(await ask("/store/items/search", { namespace_prefix: ["n"] })).toMatchObject({
      items: [{ key: "k", value: {}, key_destroyed: true }],
    });
    expect((await caller.fetch(`/runs/crons/${ids.cron}`)).status).toBe(410);
    expect(await ask("/runs/crons/search", {})).toMatchObject([{ cron_id: ids.cron, payload: {} }]);
    expect(await ask(`/api/v1/examples/${ids.example}`)).toMatchObject({ inputs: null });
    expect((await caller.fetch(`/api/v1/runs/${run.id}/share`)).status).toBe(410);
    await ask("/store/items", { namespace: ["n"], key: "k", value: { text: "again" } }, "PUT");
    expect(await ask("/store/items?namespace=n&key=k")).toMatchObject({ value: { text: "again" } });
    for (const [path, body] of [
      [`/runs/crons/${ids.cron}`],
      [`/api/v1/feedback/${feedback.id}`],
      [`/api/v1/examples/${ids.example}`],
      ["/store/items", { namespace: ["n"], key: "k" }],
    ] as const)
      expect([path, (await caller.fetch(path, { method: "DELETE", body })).status]).toEqual([
        path,
        expect.toSatisfy((status: number) => status < 300) as number,
      ]);
  });
});
