/** The stream of what changes in a workspace. */
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { indexShard } from "../../../src/threads/search/rpc.ts";
import { type Caller, newCaller, send } from "../../support/caller.ts";
import { newThread } from "../client.ts";
import { POLL_MS } from "../../support/thorough.ts";

const PATH = "/api/v1/activity/stream";

/** The text of the stream until it holds `words`. */
async function readUntil(reader: ReadableStreamDefaultReader<Uint8Array>, words: string): Promise<string> {
  let text = "";
  while (!text.includes(words)) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`The stream ended: ${text}`);
    text += new TextDecoder().decode(value);
  }
  return text;
}

async function follow(caller: Caller) {
  const answer = await caller.fetch(PATH);
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  await readUntil(reader, "event: open");
  return reader;
}

it("names each thread that is made, changed and deleted, and none of another workspace", async () => {
  const [caller, other] = [await newCaller(), await newCaller()];
  const reader = await follow(caller);
  const foreign = await newThread(other);
  const id = await newThread(caller);
  const made = await readUntil(reader, id);
  expect(made).toContain('"status":"idle"');
  expect(made).not.toContain(foreign);
  await caller.fetch(`/threads/${id}`, { method: "DELETE" });
  expect(await readUntil(reader, '"status":null')).toContain(id);
  await reader.cancel();
});

it("says first when the last change was, if there was one", async () => {
  const caller = await newCaller();
  const openStream = async () => {
    const reader = ((await caller.fetch(PATH)).body as ReadableStream<Uint8Array>).getReader();
    const [, data = ""] = /^data: (.*)$/m.exec(await readUntil(reader, "\n\n")) ?? [];
    await reader.cancel();
    return JSON.parse(data) as unknown;
  };
  expect(await openStream()).toEqual({ unchanged_ms: null });
  const before = Date.now();
  await newThread(caller);
  await vi.waitFor(async () => expect(await openStream()).toEqual({ unchanged_ms: expect.any(Number) }), POLL_MS);
  const { unchanged_ms } = (await openStream()) as { unchanged_ms: number };
  expect(unchanged_ms).toBeGreaterThanOrEqual(0);
  expect(unchanged_ms).toBeLessThanOrEqual(Date.now() - before);
});

it("names no thread as deleted that has changed since its deletion was requested", async () => {
  const caller = await newCaller();
  const reader = await follow(caller);
  const id = await newThread(caller);
  await readUntil(reader, id);
  await indexShard(env, caller.workspaceId, 0).remove([{ id, revision: 1 }]);
  await caller.fetch(`/threads/${id}`, { method: "PATCH", body: { metadata: { changed: true } } });
  expect(await readUntil(reader, "status")).not.toContain('"status":null');
  await reader.cancel();
});

it("lists open runs whose inputs together are larger than one answer", async () => {
  const caller = await newCaller();
  const id = await newThread(caller);
  const input = { messages: [], text: "x".repeat(4_000_000) };
  for (let n = 0; n < 8; n++) {
    const body = { assistant_id: "echo", input, after_seconds: 600, multitask_strategy: "enqueue" };
    expect((await caller.fetch(`/threads/${id}/runs`, { body })).status).toBe(200);
  }
  await vi.waitFor(async () => {
    const answer = await caller.fetch("/api/v1/activity/runs");
    const { runs, complete } = await answer.json<{ runs: object[]; complete: boolean }>();
    expect([runs.length, complete]).toEqual([8, true]);
  }, POLL_MS);
});

it("lists the runs that are open on all threads, and those of no other workspace", async () => {
  const [caller, other] = [await newCaller(), await newCaller()];
  const open = async (of: Caller) =>
    (await of.fetch("/api/v1/activity/runs")).json<{ runs: Record<string, unknown>[]; complete: boolean }>();
  expect(await open(caller)).toEqual({ runs: [], complete: true });
  const later = { assistant_id: "echo", input: { messages: [] }, after_seconds: 600 };
  const started = async (id: string) =>
    (await caller.fetch(`/threads/${id}/runs`, { body: later })).json<{ run_id: string }>();
  const [first, second] = [await newThread(caller), await newThread(caller)];
  const runs = [await started(first), await started(first), await started(second)].map(({ run_id }) => run_id);
  await vi.waitFor(async () => expect((await open(caller)).runs).toHaveLength(3), POLL_MS);
  const { runs: found, complete } = await open(caller);
  expect(new Set(found.map(({ run_id }) => run_id))).toEqual(new Set(runs));
  const waiting = { status: "pending", attempt: 0 };
  expect(found).toMatchObject([waiting, waiting, waiting]);
  expect(found.some((run) => "kwargs" in run)).toBe(false);
  expect(complete).toBe(true);
  expect((await open(other)).runs).toEqual([]);
  const part = await caller.fetch("/api/v1/activity/runs?threads=1");
  expect(await part.json()).toMatchObject({ complete: false });
  expect((await caller.fetch("/api/v1/activity/runs?threads=0")).status).toBe(422);
  for (const id of [first, second]) await caller.fetch(`/threads/${id}`, { method: "DELETE" });
});

it("needs a key", async () => {
  expect((await send(PATH)).status).toBe(401);
  expect((await send(PATH, { headers: { "x-api-key": "wrong" } })).status).toBe(401);
});
