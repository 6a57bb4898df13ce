/** Budgets by the API, the ledger of a workspace, and what is sent at 80 %. */
import { addRow } from "../../support/thread-tables.ts";
import { beforeEach, describe, expect, it, afterEach, vi } from "vitest";
import type { Budget } from "../../../src/limits/budgets/rule.ts";
import { formatDay, workspaceBudgets } from "../../../src/limits/budgets/rpc.ts";
import { env } from "cloudflare:workers";
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { ADMIN_KEY, type Caller, newCaller, send } from "../../support/caller.ts";
import { stubFetch } from "../../support/stub-fetch.ts";
import { get, newThread } from "../../threads/client.ts";
import { listQuestions, calls, put, run, TOKENS, uses } from "./spending.ts";

let caller: Caller;
let name: string;
beforeEach(async () => {
  caller = await newCaller();
  name = crypto.randomUUID();
});
afterEach(() => {
  vi.unstubAllGlobals();
});

const input = (team?: string) => ({ input: { name }, ...(team !== undefined && { metadata: { team } }) });

describe("a budget that says too little or too much is refused", () => {
  const cases: [string, object][] = [
    ["no limit", { per: "run" }],
    ["two limits", { per: "run", dollars: 1, tokens: 1 }],
    ["no period", { dollars: 1 }],
    ["another period", { per: "week", dollars: 1 }],
    ["nothing to spend", { per: "run", dollars: 0 }],
    ["half a token", { per: "run", tokens: 0.5 }],
    ["a key of a run", { per: "run", key: "user", dollars: 1 }],
    ["another key", { per: "day", key: "colour", dollars: 1 }],
    ["another limit", { per: "day", dollars: 1, at_limit: "beg" }],
    ["a private webhook", { per: "day", dollars: 1, webhook: "http://10.0.0.1/" }],
    ["no webhook", { per: "day", dollars: 1, webhook: "hooks" }],
    ["another member", { per: "day", dollars: 1, euros: 1 }],
  ];
  it.each(cases)("%s", async (_, body) => {
    const response = await caller.fetch("/api/v1/budgets/one", { method: "PUT", body });
    expect(response.status).toBe(422);
    expect(await get(caller, "/api/v1/budgets")).toEqual({ budgets: [] });
  });
});

describe("prices of a workspace", () => {
  const cases: [string, unknown][] = [
    ["an expression", [{ model: "(a+)+$", input: 1, output: 1 }]],
    ["a negative price", [{ model: "a", input: -1, output: 1 }]],
    ["no output", [{ model: "a", input: 1 }]],
    ["no list", { model: "a", input: 1, output: 1 }],
  ];
  it.each(cases)("%s is refused", async (_, prices) => {
    const response = await caller.fetch("/api/v1/prices", { method: "PUT", body: { prices } });
    expect(response.status).toBe(422);
  });

  it("come before those of the table", async () => {
    const prices = [{ model: "gpt-4o*", input: 9, output: 9 }];
    expect((await caller.fetch("/api/v1/prices", { method: "PUT", body: { prices } })).status).toBe(200);
    const all = await get<{ prices: { model: string; source: string }[] }>(caller, "/api/v1/prices");
    expect(all.prices[0]).toEqual({ ...prices[0], source: "workspace" });
    expect(all.prices.at(-1)?.source).toBe("list");
  });
});

it("only those who manage flow control change budgets, and no other workspace sees or is limited by them", async () => {
  const make = async (scopes: string[]) => {
    const response = await caller.fetch("/api/v1/api-keys", { body: { name: "reader", scopes }, headers: admin() });
    return (await response.json<{ key: string }>()).key;
  };
  const admin = () => ({ "x-api-key": ADMIN_KEY, "x-tenant-id": caller.workspaceId });
  const reader = { "x-api-key": await make(["read", "write"]) };
  const body = { per: "run", tokens: TOKENS };
  const change = async (headers: Record<string, string>) =>
    (await send("/api/v1/budgets/one", { method: "PUT", body, headers })).status;
  expect([await change({}), await change({ "x-api-key": "wrong" }), await change(reader)]).toEqual([401, 401, 403]);
  await put(caller, "one", body);
  expect(await (await send("/api/v1/budgets", { headers: reader })).json()).toMatchObject({ budgets: [{ id: "one" }] });
  expect((await send("/api/v1/budgets/one", { method: "DELETE", headers: reader })).status).toBe(403);
  const other = await newCaller();
  expect(await get(other, "/api/v1/budgets")).toEqual({ budgets: [] });
  expect((await other.fetch("/api/v1/budgets/one", { method: "DELETE" })).status).toBe(404);
  const thread = await newThread(other);
  await run(other, thread, "speaking", input());
  expect(await listQuestions(other, thread)).toEqual([]);
  expect((await caller.fetch("/api/v1/budgets/one", { method: "DELETE" })).status).toBe(204);
  const own = await newThread(caller);
  await run(caller, own, "speaking", input());
  expect(await listQuestions(caller, own)).toEqual([]);
});

it("at 80 % the webhook is called once for each key and day, by the run that passed it", async () => {
  const sent: Record<string, unknown>[] = [];
  stubFetch(async (url, { body }) => {
    if (url === "https://budgets.example/") sent.push(JSON.parse(body as string) as Record<string, unknown>);
    return new Response();
  });
  const webhook = "https://budgets.example/";
  await put(caller, "teams", { per: "day", key: "metadata.team", tokens: 5 * TOKENS, webhook });
  const threads = await Promise.all(Array.from({ length: 3 }, async () => newThread(caller)));
  await run(caller, threads[0] ?? "", "speaking", input("a"));
  expect(sent).toEqual([]);
  // The last call of this run passes 80 %, and the one after it asks.
  await run(caller, threads[1] ?? "", "speaking", input("a"));
  await run(caller, threads[2] ?? "", "speaking", input("b"));
  const about = { type: "budget.warning", budget: "teams", key: "a", day: formatDay(Date.now()), unit: "tokens" };
  await expect.poll(() => sent.length).toBe(1);
  expect(sent[0]).toMatchObject({ ...about, spent: 4 * TOKENS, limit: 5 * TOKENS, thread_id: threads[1] });
  expect(await uses(caller)).toMatchObject([
    { budget: "teams", key: "a", spent: 5 * TOKENS, limit: 5 * TOKENS, approved: 0 },
    { budget: "teams", key: "b", spent: 3 * TOKENS },
  ]);
  expect(await listQuestions(caller, threads[1] ?? "")).toMatchObject([{ value: { budget: "teams", key: "a" } }]);
  expect(calls.get(name)).toBe(8);
  const one = await get<{ uses: unknown[] }>(caller, "/api/v1/budgets/use?budget=teams&limit=1");
  expect(one.uses).toHaveLength(1);
  expect(await get(caller, "/api/v1/budgets/use?day=2020-01-01")).toEqual({ uses: [] });
  expect((await caller.fetch("/api/v1/budgets/use?day=yesterday")).status).toBe(422);
  // A run that has no team is not counted.
  const none = await newThread(caller);
  await run(caller, none, "speaking", input());
  expect(await uses(caller)).toHaveLength(2);
});

it("what a run could not report, its thread's outbox does, also after the thread is deleted", async () => {
  await put(caller, "all", { per: "day", tokens: 100 * TOKENS });
  const thread = await newThread(caller);
  await run(caller, thread, "speaking", { ...input(), webhook: "https://hooks.example/" });
  const report = {
    budget: "all",
    key: "",
    day: formatDay(Date.now()),
    total: TOKENS,
    limit: 100 * TOKENS,
    unit: "tokens",
  };
  const body = JSON.stringify({ run_id: crypto.randomUUID(), reports: [report] });
  await runInDurableObject(env.THREAD.getByName(`${caller.workspaceId}:${thread}`), async (_, { storage }) => {
    addRow(storage, "outbox", { id: 1_000, kind: "spent", body, attempts: 0, due: Date.now() });
  });
  await abortAllDurableObjects();
  expect((await caller.fetch(`/threads/${thread}`, { method: "DELETE" })).status).toBe(204);
  await expect.poll(async () => (await uses(caller))[0]?.spent, { timeout: 10_000 }).toBe(4 * TOKENS);
});

describe("the ledger", () => {
  const day = formatDay(Date.now());
  const of = { budget: "all", key: "", day };
  const report = { ...of, limit: 10, unit: "tokens" as const };
  const ledger = () => workspaceBudgets(env, caller.workspaceId);

  it("counts a run's total once, however often and in which order it comes", async () => {
    for (const total of [0, 3, 3, 5, 2, 5]) await ledger().report("one", [{ ...report, total }]);
    await abortAllDurableObjects();
    expect(await ledger().report("one", [{ ...report, total: 5 }])).toEqual([{ spent: 5, extra: 0, warn: false }]);
    expect(await ledger().report("two", [{ ...report, total: 4 }])).toEqual([{ spent: 9, extra: 0, warn: true }]);
    // The same answer until the run has stored it; no other run gets it.
    expect(await ledger().report("two", [{ ...report, total: 4 }])).toEqual([{ spent: 9, extra: 0, warn: true }]);
    expect(await ledger().report("one", [{ ...report, total: 6 }])).toEqual([{ spent: 10, extra: 0, warn: false }]);
  });

  it("raises a limit once for each question, and never for a day that is not counted", async () => {
    await ledger().approve(of, "question", 5);
    await ledger().report("one", [{ ...report, total: 10 }]);
    for (const question of ["a", "a", "b"]) await ledger().approve(of, question, 5);
    expect(await ledger().uses(day, undefined, 10)).toMatchObject([{ spent: 10, limit: 20, approved: 10 }]);
    await ledger().report("late", [{ ...report, day: "2020-01-01", total: 10 }]);
    expect(await ledger().uses("2020-01-01", undefined, 10)).toEqual([]);
  });

  it("adds dollars without the error of binary fractions", async () => {
    const dollars = { ...report, limit: 0.6, unit: "dollars" as const };
    await ledger().report("one", [{ ...dollars, total: 0.1 }]);
    for (const [question, amount] of [["a", 0.1] as const, ["b", 0.2] as const])
      await ledger().approve(of, question, amount);
    expect(await ledger().report("one", [{ ...dollars, total: 0.3 }])).toMatchObject([{ spent: 0.3, extra: 0.3 }]);
    expect(await ledger().uses(day, undefined, 10)).toMatchObject([{ spent: 0.3, limit: 0.9, approved: 0.3 }]);
  });

  it("stores nothing before the first change, and at most 100 budgets", async () => {
    expect(await ledger().read()).toEqual({ budgets: [], prices: [] });
    expect(await ledger().report("one", [{ ...report, total: 0 }])).toEqual([{ spent: 0, extra: 0, warn: false }]);
    const budget = (id: number): Budget => ({ id: `b${id}`, per: "run", tokens: 1, at_limit: "ask" });
    for (let id = 0; id < 100; id += 1) expect(await ledger().putBudget(budget(id))).toBe(true);
    expect(await ledger().putBudget(budget(100))).toBe(false);
    expect(await ledger().putBudget(budget(99))).toBe(true);
  });
});
