/** What a run asks of D1, which has one writer for the whole deployment and may be far from the caller. */
import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import { newThread, say } from "../client.ts";

afterEach(() => vi.restoreAllMocks());

/** The statements that D1 gets while a run streams, up to its first byte and up to its end. */
async function recordStatements(caller: Caller, thread: string): Promise<{ first: string[]; all: string[] }> {
  const prepare = vi.spyOn(Object.getPrototypeOf(env.DB) as D1Database, "prepare");
  const listSent = () => prepare.mock.calls.map(([sql]) => sql);
  const body = { assistant_id: "echo", input: say("hello") };
  const response = await caller.fetch(`/threads/${thread}/runs/stream`, { body });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  expect((await reader.read()).value?.byteLength).toBeGreaterThan(0);
  const first = listSent();
  while (!(await reader.read()).done);
  const all = listSent();
  prepare.mockRestore();
  return { first, all };
}

it("asks D1 nothing for a run of a known key and assistant, to its first byte and to its end", async () => {
  const caller = await newCaller();
  const cold = await recordStatements(caller, await newThread(caller));
  expect(cold.first.join()).toContain("assistants");
  // The first trace of a day is listed in D1 a moment after its run.
  const listed = env.DB.prepare("SELECT 1 FROM trace_partitions WHERE workspace_id = ?").bind(caller.workspaceId);
  await expect.poll(async () => (await listed.all()).results.length, { timeout: 10_000 }).toBe(1);
  const warm = await recordStatements(caller, await newThread(caller));
  // Traces of runs before are listed in the meantime.
  expect(warm.first.filter((sql) => !/trace/.test(sql))).toEqual([]);
  expect(warm.all.filter((sql) => !/trace|project/.test(sql))).toEqual([]);
});

it("reads a key and an assistant from D1 again after five seconds", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  await recordStatements(caller, thread);
  const now = Date.now();
  vi.spyOn(Date, "now").mockReturnValue(now + 5_001);
  const { first } = await recordStatements(caller, thread);
  expect(first.some((sql) => sql.includes("api_keys"))).toBe(true);
  expect(first.some((sql) => sql.includes("assistants"))).toBe(true);
});
