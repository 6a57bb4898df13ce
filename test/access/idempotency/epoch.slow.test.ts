/** What a request under an Idempotency-Key made: found for 24 hours from the first use of the key, and never after that. */
import "../../support/graphs.ts";
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import { get, newThread, say } from "../../threads/client.ts";

const HOUR = 3_600_000;
const headers = { "idempotency-key": "k" };
const body = { assistant_id: "echo", input: say("hello") };

let caller: Caller;
beforeEach(async () => {
  caller = await newCaller();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Sends the request, and gives the id of its run. */
async function startRun(path: string): Promise<string> {
  const answer = await caller.fetch(path, { body, headers });
  expect(answer.status).toBe(200);
  await answer.text();
  return answer.headers.get("content-location")?.split("/").at(-1) ?? "";
}

/** Moves the clock. The object does what is due then. */
async function pass(ms: number, thread: string): Promise<void> {
  vi.setSystemTime(Date.now() + ms);
  await runDurableObjectAlarm(env.THREAD.getByName(`${caller.workspaceId}:${thread}`));
}

describe.each(["stream", "wait"])("POST /runs/%s under an Idempotency-Key", (kind) => {
  it("leads to its run for 24 hours, and then makes another one", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const run = await startRun(`/runs/${kind}`);
    // What the run queued is carried out before its thread is deleted.
    await pass(1_000, run);
    await pass(HOUR, run);
    expect(await startRun(`/runs/${kind}`)).toBe(run);
    await pass(22.9 * HOUR, run);
    expect(await startRun(`/runs/${kind}`)).toBe(run);
    expect(await get<object[]>(caller, `/threads/${run}/runs`)).toHaveLength(1);
    await pass(HOUR, run);
    expect((await caller.fetch(`/threads/${run}/runs/${run}`)).status).toBe(404);
    expect(await startRun(`/runs/${kind}`)).not.toBe(run);
  });
});

it("the thread of a stateless run without a key is deleted after a minute", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  const answer = await caller.fetch("/runs/wait", { body });
  await answer.text();
  const run = answer.headers.get("content-location")?.split("/").at(-1) ?? "";
  await pass(1_000, run);
  await pass(60_000, run);
  expect((await caller.fetch(`/threads/${run}/runs/${run}`)).status).toBe(404);
});

it("an answer that is too long to be kept leads to what the request made, within 24 hours of the first one", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  const ids: string[] = [];
  const input = say("x".repeat(1_100_000));
  const create = async () => {
    const made = await caller.fetch("/runs", { body: { ...body, input, on_completion: "keep" }, headers });
    ids.push((await made.json<{ run_id: string }>()).run_id);
  };
  await create();
  for (const hours of [10, 13]) {
    vi.setSystemTime(Date.now() + hours * HOUR);
    await create();
  }
  expect(new Set(ids).size).toBe(1);
  // Repetitions do not prolong the 24 hours.
  vi.setSystemTime(Date.now() + 2 * HOUR);
  await create();
  expect(new Set(ids).size).toBe(2);
});

const createOne = async (path: string, body: object) =>
  (await (await caller.fetch(path, { body })).json<{ id: string }>()).id;
// It waits for an answer, and says on which thread.
const tool = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "actor", arguments: say("ask") } };
describe.each<[path: string, body: object | undefined, accept?: string]>([
  ["/threads", {}],
  ["/threads/:thread/copy", undefined],
  ["/threads/:thread/runs", body],
  ["/runs", body],
  ["/runs/wait", body],
  ["/runs/batch", [body, body]],
  ["/mcp", tool, "application/json"],
  ["/mcp", tool, "text/event-stream"],
  ["/api/v1/examples", { dataset_id: ":dataset", inputs: { a: 1 } }],
  ["/api/v1/examples/bulk", [1, 2].map((a) => ({ dataset_id: ":dataset", inputs: { a } }))],
  ["/api/v1/datasets/comparative", { reference_dataset_id: ":dataset", experiment_ids: [":experiment"] }],
  ["/api/v1/feedback", { session_id: ":experiment", key: "note", score: 1 }],
])("POST %s whose process stopped before it answered", (path, body, accept) => {
  it(`makes its thing once (${accept ?? "any answer"})`, async () => {
    const dataset = await createOne("/api/v1/datasets", { name: "d" });
    const experiment = await createOne("/api/v1/sessions", { name: "e", reference_dataset_id: dataset });
    const named = JSON.stringify([path, body]).replaceAll(":dataset", dataset).replaceAll(":experiment", experiment);
    const [target, sent] = JSON.parse(named.replace(":thread", await newThread(caller))) as [string, object | null];
    const request = async () => {
      const more = { ...headers, ...(accept && { accept }) };
      const answer = await caller.fetch(target, { method: "POST", body: sent ?? undefined, headers: more });
      expect(answer.status).toBe(200);
      expect(answer.headers.get("idempotency-replayed")).toBeNull();
      // Ids of messages, too, are new in each run.
      return (await answer.text()).match(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g);
    };
    const first = await request();
    await env.DB.prepare(
      "UPDATE idempotency_keys SET status = NULL, body = 'claimed', created_at = created_at - 200000 WHERE workspace_id = ?",
    )
      .bind(caller.workspaceId)
      .run();
    expect(first).not.toBeNull();
    expect(await request()).toEqual(first);
  });
});
