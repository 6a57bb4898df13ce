/** Budgets: a run pauses before the model call that would pass one, a person approves more or declines, and nothing is lost. */
import { abortAllDurableObjects } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import { get, newThread, stream } from "../../threads/client.ts";
import { listQuestions, between, calls, PRICES, put, run, TOKENS, uses } from "./spending.ts";

let caller: Caller;
let name: string;
beforeEach(async () => {
  caller = await newCaller();
  name = crypto.randomUUID();
  between.work = undefined;
});

const dollars = async () => {
  const response = await caller.fetch("/api/v1/prices", { method: "PUT", body: { prices: PRICES } });
  expect(response.status).toBe(200);
};
const input = () => ({ input: { name } });
const answer = (resume: unknown) => ({ command: { resume } });

it("a run pauses before the call that would pass its budget, and continues to its end when more is approved", async () => {
  await dollars();
  await put(caller, "each-run", { per: "run", dollars: 2 });
  const thread = await newThread(caller);
  const frames = await stream(caller, thread, {
    assistant_id: "speaking",
    ...input(),
    stream_mode: ["values", "custom"],
  });
  const custom = frames.filter(({ event }) => event === "custom").map(({ data }) => data);
  expect(custom).toMatchObject([{ name: "budget.warning", payload: { budget: "each-run", spent: 2, limit: 2 } }]);
  const [question] = await listQuestions(caller, thread);
  expect(question?.value).toMatchObject({
    type: "budget",
    budget: "each-run",
    unit: "dollars",
    spent: 2,
    limit: 2,
    more: 2,
  });
  expect(calls.get(name)).toBe(2);
  const paused = await get<{ status: string }>(caller, `/threads/${thread}`);
  expect(paused.status).toBe("interrupted");
  const ended = await run(caller, thread, "speaking", answer({ approve: 0.5 }));
  expect(ended).toEqual({ name, said: ["one: said", "two: said", "three: said"] });
  expect(calls.get(name)).toBe(3);
  const [last] = await get<{ status: string; budgets: unknown }[]>(caller, `/threads/${thread}/runs`);
  expect(last).toMatchObject({ status: "success", budgets: [{ budget: "each-run", spent: 3, limit: 2.5 }] });
  const entries = await get<Record<string, unknown>[]>(caller, "/api/v1/audit-log?action=budget.approved");
  expect(entries).toMatchObject([
    { target_id: "each-run", actor: { kind: "key" }, detail: { thread_id: thread, amount: 0.5 } },
  ]);
});

describe("what an answer does", () => {
  beforeEach(async () => put(caller, "each-run", { per: "run", tokens: 2 * TOKENS }));

  // As `useStream` of the JavaScript SDK does.
  it.each([
    ["approves", { approve: true }, { said: ["one: said", "two: said", "three: said"] }],
    ["declines", "no", { __error__: { error: "BudgetExceeded" } }],
  ])("one that names the checkpoint at which it was asked %s", async (_what, resume, end) => {
    const thread = await newThread(caller);
    await run(caller, thread, "speaking", input());
    const { checkpoint } = await get<{ checkpoint: object }>(caller, `/threads/${thread}/state`);
    const asksAgain = await run(caller, thread, "speaking", { input: null, checkpoint });
    expect(asksAgain.__interrupt__).toMatchObject([{ value: { spent: 2 * TOKENS } }]);
    expect(await run(caller, thread, "speaking", { ...answer(resume), checkpoint })).toMatchObject(end);
  });

  const answerPause = async (resume: unknown) => {
    const thread = await newThread(caller);
    await run(caller, thread, "speaking", input());
    const { said, __error__: error } = await run(caller, thread, "speaking", answer(resume));
    const [last] = await get<{ status: string }[]>(caller, `/threads/${thread}/runs`);
    return { status: last?.status, said: said?.length, error: error?.error, calls: calls.get(name) };
  };

  const approves = [true, "yes", "$1.50", 1, { approve: true }, { approve: TOKENS }];
  it.each(approves.map((resume) => [resume]))("%j approves", async (resume) => {
    expect(await answerPause(resume)).toEqual({ status: "success", said: 3, error: undefined, calls: 3 });
  });

  const declines = [false, "no", 0, { approve: -1 }, { approve: false }, { decisions: [{ type: "reject" }] }];
  it.each(declines.map((resume) => [resume]))("%j declines", async (resume) => {
    expect(await answerPause(resume)).toMatchObject({ status: "error", error: "BudgetExceeded", calls: 2 });
  });
});

it("a run with new input begins to count again, and one that continues without an answer asks again", async () => {
  await put(caller, "each-run", { per: "run", tokens: 2 * TOKENS });
  const thread = await newThread(caller);
  await run(caller, thread, "speaking", input());
  await run(caller, thread, "speaking", { input: null });
  expect(await listQuestions(caller, thread)).toMatchObject([{ value: { spent: 2 * TOKENS } }]);
  expect(calls.get(name)).toBe(2);
  await run(caller, thread, "speaking", input());
  expect(await listQuestions(caller, thread)).toMatchObject([{ value: { spent: 2 * TOKENS } }]);
  expect(calls.get(name)).toBe(4);
});

it("a budget that ends the run raises no question, nor does one of a stateless run", async () => {
  await put(caller, "ends", { per: "run", tokens: TOKENS, at_limit: "end", match: { assistant: "careful" } });
  const thread = await newThread(caller);
  const ended = await run(caller, thread, "careful", input());
  expect(ended.__error__).toMatchObject({ error: "BudgetExceeded", message: expect.stringContaining('"ends"') });
  expect(await listQuestions(caller, thread)).toEqual([]);
  await put(caller, "asks", { per: "run", tokens: TOKENS });
  const response = await caller.fetch("/runs/wait", { body: { assistant_id: "speaking", ...input() } });
  expect(await response.json()).toMatchObject({ __error__: { error: "BudgetExceeded" } });
});

describe("nothing swallows the question", () => {
  const cases: [string, number, string[]][] = [
    ["careful", 1, ["one: said", "careful"]],
    ["fallback", 1, ["one: said", "fallback"]],
    ["nesting", 3, ["one: said", "two: said", "one: said", "careful"]],
  ];
  it.each(cases)("%s", async (assistant, before, said) => {
    await put(caller, "each-run", { per: "run", tokens: before * TOKENS });
    const thread = await newThread(caller);
    await run(caller, thread, assistant, input());
    expect(await listQuestions(caller, thread)).toMatchObject([{ value: { budget: "each-run" } }]);
    expect(calls.get(name)).toBe(before);
    const ended = await run(caller, thread, assistant, answer(true));
    expect(ended.said?.slice(-said.length)).toEqual(said);
    expect(ended.said?.filter((text) => text === "caught")).toEqual([]);
  });
});

it("parallel tasks ask one question, and its answer does not reach a question of the graph", async () => {
  await put(caller, "each-run", { per: "run", tokens: TOKENS });
  const thread = await newThread(caller);
  await run(caller, thread, "side", input());
  const questions = await listQuestions(caller, thread);
  const own = questions.find(({ value }) => (value as unknown) === "asks?");
  const [id = "", ...others] = questions.filter((one) => one !== own).map((one) => one.id);
  expect(others).toEqual([]);
  const plain = await run(caller, thread, "side", answer({ approve: 5 * TOKENS }));
  expect(plain.__error__).toMatchObject({ error: "SeveralInterruptsError", message: expect.stringContaining(id) });
  await run(caller, thread, "side", answer({ [id]: { approve: 5 * TOKENS } }));
  expect(await listQuestions(caller, thread)).toMatchObject([{ value: "asks?" }]);
  const ended = await run(caller, thread, "side", answer({ [own?.id ?? ""]: "fine" }));
  expect(ended.said?.toSorted()).toEqual(['asks: "fine"', "left: said", "one: said", "right: said"]);
  expect(id).toMatch(/^[0-9a-f]{32}$/);
});

it("an answer to the graph's question leaves that of the budget open, and both can be answered at once", async () => {
  await put(caller, "each-run", { per: "run", tokens: TOKENS });
  const thread = await newThread(caller);
  await run(caller, thread, "side", input());
  const own = (await listQuestions(caller, thread)).find(({ value }) => (value as unknown) === "asks?");
  await run(caller, thread, "side", answer({ [own?.id ?? ""]: "fine" }));
  // The graph has its answer, and its model call asks like the others.
  const [question, ...others] = await listQuestions(caller, thread);
  expect(new Set([question, ...others].map((one) => one?.value["budget"]))).toEqual(new Set(["each-run"]));
  expect(calls.get(name)).toBe(1);
  const ended = await run(caller, thread, "side", answer({ [question?.id ?? ""]: { approve: 3 * TOKENS } }));
  expect(ended.said).toContain('asks: "fine"');
  expect(calls.get(name)).toBe(4);
});

it("a question of a node that reaches a budget after its answer keeps the answer", async () => {
  await put(caller, "each-thread", { per: "thread", tokens: TOKENS });
  const thread = await newThread(caller);
  await run(caller, thread, "questioning", input());
  expect(await listQuestions(caller, thread)).toMatchObject([{ value: "two?" }]);
  await run(caller, thread, "questioning", answer("the answer"));
  expect(await listQuestions(caller, thread)).toMatchObject([{ value: { budget: "each-thread" } }]);
  const ended = await run(caller, thread, "questioning", answer(true));
  expect(ended.said).toEqual(["one: said", 'two: "the answer"']);
});

it("a thread's budget counts all its runs, also after restarts", async () => {
  await put(caller, "each-thread", { per: "thread", tokens: 4 * TOKENS });
  const thread = await newThread(caller);
  await run(caller, thread, "speaking", input());
  await abortAllDurableObjects();
  await run(caller, thread, "speaking", input());
  expect(await listQuestions(caller, thread)).toMatchObject([{ value: { spent: 4 * TOKENS, limit: 4 * TOKENS } }]);
  expect(calls.get(name)).toBe(4);
  await abortAllDurableObjects();
  await run(caller, thread, "speaking", answer(true));
  expect(calls.get(name)).toBe(6);
  const other = await newThread(caller);
  await run(caller, other, "speaking", input());
  expect(await listQuestions(caller, other)).toEqual([]);
});

it.each(["run", "thread", "day"])(
  "a question of a budget a %s raises it once, also when its answer was undone",
  async (per) => {
    await put(caller, "once", { per, tokens: TOKENS });
    const thread = await newThread(caller);
    const readSpent = async (more: object) => {
      const { __interrupt__: questions = [] } = await run(caller, thread, "speaking", more);
      return questions.map(({ value }) => [value.spent, value.limit]);
    };
    expect(await readSpent(input())).toEqual([[TOKENS, TOKENS]]);
    expect(await readSpent(answer(true))).toEqual([[2 * TOKENS, 2 * TOKENS]]);
    const [last] = await get<{ run_id: string }[]>(caller, `/threads/${thread}/runs`);
    await caller.fetch(`/threads/${thread}/runs/${last!.run_id}`, { method: "DELETE" });
    expect((await listQuestions(caller, thread)).map(({ value }) => value.limit)).toEqual([TOKENS]);
    expect(await readSpent(answer(true))).toEqual([[2 * TOKENS, 2 * TOKENS]]);
    expect(await readSpent(answer(true))).toEqual([[3 * TOKENS, 3 * TOKENS]]);
  },
);

it("an attempt after a crash counts what the one before has paid, once", async () => {
  await put(caller, "each-run", { per: "run", tokens: 10 * TOKENS });
  await put(caller, "each-day", { per: "day", tokens: 100 * TOKENS });
  let attempts = 0;
  between.work = async () => {
    attempts += 1;
    await new Promise((resolve) => setTimeout(resolve, attempts === 1 ? 60_000 : 0));
  };
  const thread = await newThread(caller);
  const { run_id } = await (
    await caller.fetch(`/threads/${thread}/runs`, { body: { assistant_id: "crashing", ...input() } })
  ).json<{ run_id: string }>();
  await expect.poll(() => attempts).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 300));
  await abortAllDurableObjects();
  const readRun = () => get<{ status: string; budgets: unknown }>(caller, `/threads/${thread}/runs/${run_id}`);
  await expect.poll(async () => (await readRun()).status, { timeout: 20_000 }).toBe("success");
  const paid = (calls.get(name) ?? 0) * TOKENS;
  expect((await readRun()).budgets).toMatchObject([{ spent: paid }, { spent: paid }]);
  expect(await uses(caller)).toMatchObject([{ budget: "each-day", spent: paid }]);
});

it("runs share a day's budget, each with one call in flight at most past it", async () => {
  await put(caller, "each-day", { per: "day", tokens: 10 * TOKENS });
  const threads = await Promise.all(Array.from({ length: 8 }, async () => newThread(caller)));
  await Promise.all(threads.map(async (thread) => run(caller, thread, "speaking", input())));
  const made = calls.get(name) ?? 0;
  expect(made).toBeGreaterThanOrEqual(10);
  expect(made).toBeLessThanOrEqual(10 + 8);
  expect(await uses(caller)).toMatchObject([{ budget: "each-day", key: "", spent: made * TOKENS, limit: 10 * TOKENS }]);
  const waiting = [];
  for (const thread of threads) if ((await listQuestions(caller, thread)).length > 0) waiting.push(thread);
  expect(waiting.length).toBeGreaterThan(0);
  await run(caller, waiting[0] ?? "", "speaking", answer({ approve: 100 * TOKENS }));
  for (const thread of waiting.slice(1)) await run(caller, thread, "speaking", { input: null });
  expect(calls.get(name)).toBe(24);
  expect(await uses(caller)).toMatchObject([{ spent: 24 * TOKENS, limit: 110 * TOKENS, approved: 100 * TOKENS }]);
});
