/** Rules: who may change them, what they may be, where they come from, to which runs they apply, and what they cost. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { deployedRules, FlowRules } from "../../../src/limits/flow/rule.ts";
import { Limiter } from "../../edge-limits/worker.ts";
import { parse } from "../../../src/http/validate.ts";
import { message1, rpc } from "../../protocols/a2a/rpc.ts";
import { command } from "../../protocols/streaming/client.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { newThread } from "../../threads/client.ts";
import { putRule, uses } from "./put-rule.ts";
import { hold, release, readRun, start, waitForRun, untilFree, untilStatus } from "./working.ts";

let caller: Caller;
let name: string;
beforeEach(async () => {
  caller = await newCaller();
  name = crypto.randomUUID();
});
afterEach(() => {
  deployedRules.length = 0;
  vi.restoreAllMocks();
});

const put = async (id: string, rule: unknown) => {
  const response = await caller.fetch(`/api/v1/flow/rules/${id}`, { method: "PUT", body: rule });
  return { status: response.status, ...(await response.json<{ detail?: string }>()) };
};
const listRules = async () => (await caller.fetch("/api/v1/flow/rules")).json();
const deploy = (rules: unknown) => deployedRules.push(...parse(FlowRules, rules, "flow"));

it("a rule is created, replaced, listed and deleted", async () => {
  expect(await listRules()).toEqual({ rules: [] });
  expect(await put("a", { concurrency: 3 })).toEqual({
    status: 200,
    id: "a",
    key: "workspace",
    concurrency: 3,
    source: "workspace",
  });
  await put("a", { key: "user", match: { metadata: { plan: "free" } }, starts_per_minute: 5, priority: 0 });
  expect(await listRules()).toEqual({
    rules: [
      {
        id: "a",
        key: "user",
        match: { metadata: { plan: "free" } },
        starts_per_minute: 5,
        priority: 0,
        source: "workspace",
      },
    ],
  });
  const remove = async () => (await caller.fetch("/api/v1/flow/rules/a", { method: "DELETE" })).status;
  expect([await remove(), await remove()]).toEqual([204, 404]);
  expect(await listRules()).toEqual({ rules: [] });
});

it.each([
  ["no effect", "a", { key: "user" }, "expected at least one of"],
  ["an unknown member", "a", { concurency: 1 }, "not known"],
  ["a key that is none", "a", { key: "tenant", concurrency: 1 }, "expected workspace, assistant"],
  ["a number that is none", "a", { concurrency: 0 }, "expected >=1"],
  ["a priority past 9", "a", { priority: 10 }, "expected <=9"],
  ["an id with a space", "a%20b", { concurrency: 1 }, "expected up to 64"],
])("422 for %s", async (_, id, rule, detail) => {
  const answer = await put(id, rule);
  expect(answer.status).toBe(422);
  expect(answer.detail).toContain(detail);
});

it("a workspace has a hundred rules at most", async () => {
  for (let n = 0; n < 100; n += 1) await put(`rule-${n}`, { priority: 1 });
  expect(await put("another", { priority: 1 })).toMatchObject({ status: 409, detail: expect.stringContaining("100") });
  expect(await put("rule-7", { priority: 2 })).toMatchObject({ status: 200 });
});

it("a rule of langgraph.json counts in each workspace, and no workspace changes it", async () => {
  await putRule(caller, "all", { concurrency: 100 });
  deploy([{ id: "all", concurrency: 1 }]);
  expect(await put("all", { concurrency: 2 })).toMatchObject({ status: 409 });
  expect((await caller.fetch("/api/v1/flow/rules/all", { method: "DELETE" })).status).toBe(409);
  expect(await listRules()).toMatchObject({ rules: [{ id: "all", concurrency: 1, source: "deployment" }] });
  hold(name);
  const other = await newCaller();
  const [first, elsewhere] = [await start(caller, name), await start(other, name)];
  await untilStatus(caller, first, "running");
  await untilStatus(other, elsewhere, "running");
  const second = await start(caller, name);
  await waitForRun(caller, second, ({ position }) => position === 1);
  release(name);
  await untilStatus(caller, second, "success");
  await untilStatus(other, elsewhere, "success");
});

it("a rule matches by assistant, model and metadata", async () => {
  await putRule(caller, "graph", { match: { assistant: "working" }, concurrency: 100 });
  await putRule(caller, "other-graph", { match: { assistant: "echo" }, concurrency: 100 });
  await putRule(caller, "model", { match: { model: "m-1" }, concurrency: 100 });
  await putRule(caller, "models", { key: "model", concurrency: 100 });
  await putRule(caller, "paid", { match: { metadata: { plan: "paid" } }, concurrency: 100 });
  hold(name);
  await start(caller, name, { context: { model: "m-1" }, metadata: { plan: "paid" } });
  await start(caller, name, { config: { configurable: { model: "m-2" } }, metadata: { plan: "free" } });
  await expect
    .poll(async () => (await uses(caller)).map(({ rule, key, held }) => `${rule} ${key} ${held}`).sort())
    .toEqual(["graph  2", "model  1", "models m-1 1", "models m-2 1", "paid  1"]);
  release(name);
  await untilFree(caller);
});

describe("all ways to start a run claim slots", () => {
  const input = () => ({ name });
  const ways: [string, () => Promise<unknown>][] = [
    ["a batch", () => caller.fetch("/runs/batch", { body: [{ assistant_id: "working", input: input() }] })],
    ["a stream", () => caller.fetch("/runs/stream", { body: { assistant_id: "working", input: input() } })],
    [
      "the streaming protocol",
      async () => command(caller, await newThread(caller), "run.start", { assistant_id: "working", input: input() }),
    ],
    [
      "A2A",
      () =>
        rpc(
          caller,
          "SendMessage",
          { message: message1("hi"), configuration: { returnImmediately: true } },
          { agent: "agent" },
        ),
    ],
    [
      "MCP",
      async () => {
        const params = { name: "echo", arguments: { messages: [{ role: "user", content: "hi" }] } };
        void caller.fetch("/mcp", { body: { jsonrpc: "2.0", id: 1, method: "tools/call", params } });
      },
    ],
    [
      "AG-UI",
      async () => {
        const thread = crypto.randomUUID();
        const message = { id: "1", role: "user", content: "hi" };
        const body = { threadId: thread, runId: crypto.randomUUID(), messages: [message], tools: [], context: [] };
        void caller.fetch("/agui/echo", { body: { ...body, state: {}, forwardedProps: {} } });
      },
    ],
  ];
  it.each(ways)("%s", async (_, begin) => {
    await putRule(caller, "all", { concurrency: 1 });
    hold(name);
    const first = await start(caller, name);
    await untilStatus(caller, first, "running");
    await begin();
    await expect.poll(async () => (await uses(caller))[0]).toMatchObject({ held: 1, waiting: 1 });
    release(name);
    await untilFree(caller);
    expect(await readRun(caller, first)).toMatchObject({ status: "success" });
  });
});

it("a run without a rule makes no call of the limiter, and one with a rule makes one before it begins", async () => {
  const calls = (["rules", "acquire", "release"] as const).map((method) => vi.spyOn(Limiter.prototype, method));
  const counts = () => calls.map(({ mock }) => mock.calls.length);
  for (let n = 0; n < 3; n += 1) await untilStatus(caller, await start(caller, name), "success");
  // The rules of the workspace are read once in 30 seconds.
  expect(counts()).toEqual([1, 0, 0]);
  await putRule(caller, "teams", { key: "metadata.team", concurrency: 5 });
  await untilStatus(caller, await start(caller, name, { metadata: {} }), "success");
  expect(counts()).toEqual([2, 0, 0]);
  await untilStatus(caller, await start(caller, name), "success");
  await untilFree(caller);
  expect(counts()).toEqual([2, 1, 1]);
});
