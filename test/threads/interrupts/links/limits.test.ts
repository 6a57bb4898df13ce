/** The rules of flow control and the budgets that are in force when a link or a webhook answers, and not those of when the question was asked. */
import { afterEach, expect, it, vi } from "vitest";
import { put, TOKENS } from "../../../limits/budgets/spending.ts";
import { putRule } from "../../../limits/flow/put-rule.ts";
import { type Caller, newCaller } from "../../../support/caller.ts";
import "../../../support/pausing-graphs.ts";
import { stubFetch } from "../../../support/stub-fetch.ts";
import { get, newThread } from "../../client.ts";
import { ask, waitForEnd, give, type Json, link, listQuestions } from "../ask.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

const readNewest = async (caller: Caller, thread: string) => (await get<Json[]>(caller, `/threads/${thread}/runs`))[0];
const waits = (rule: string, reason: string) => ({ status: "pending", waiting_for: [{ rule, key: "", reason }] });
const remove = async (caller: Caller, rule: string) => caller.fetch(`/api/v1/flow/rules/${rule}`, { method: "DELETE" });

it("an answer by link waits while a rule pauses the thread, and the question is taken", async () => {
  const caller = await newCaller();
  const { thread, question } = await ask(caller, "plain");
  const { path } = await link(caller, thread, question);
  await putRule(caller, "stop", { match: { thread }, paused: true });
  expect((await give(path, "yes")).status).toBe(200);
  await expect.poll(() => readNewest(caller, thread)).toMatchObject(waits("stop", "paused"));
  expect((await give(path, "late")).status).toBe(409);
  await remove(caller, "stop");
  expect(await waitForEnd(caller, thread)).toEqual({ said: ["first", 'ask: "yes"'] });
});

it("so does an answer by webhook", async () => {
  const caller = await newCaller();
  stubFetch(async (_url, { body }) => {
    const { interrupts, thread_id } = JSON.parse(body as string) as { interrupts?: unknown; thread_id: string };
    if (interrupts) await putRule(caller, "stop", { match: { thread: thread_id }, paused: true });
    return Response.json({ resume: "yes" });
  });
  const { thread } = await ask(caller, "plain", { said: [] }, { webhook: "https://limits.example/run" });
  await expect.poll(() => readNewest(caller, thread)).toMatchObject(waits("stop", "paused"));
  await remove(caller, "stop");
  expect(await waitForEnd(caller, thread)).toEqual({ said: ["first", 'ask: "yes"'] });
});

it("a rule that is newer than the question counts, and one that is gone does not", async () => {
  const caller = await newCaller();
  await putRule(caller, "old", { concurrency: 1 });
  const [one, two] = [await ask(caller, "plain"), await ask(caller, "plain")];
  await remove(caller, "old");
  await putRule(caller, "new", { concurrency: 1 });
  const links = [await link(caller, one.thread, one.question), await link(caller, two.thread, two.question)];
  const { run_id } = await (await give(links[0]!.path, "slow")).json<{ run_id: string }>();
  await expect.poll(() => readNewest(caller, one.thread)).toMatchObject({ status: "running" });
  await give(links[1]!.path, "yes");
  await expect.poll(() => readNewest(caller, two.thread)).toMatchObject(waits("new", "concurrency"));
  await caller.fetch(`/threads/${one.thread}/runs/${run_id}/cancel`, { method: "POST" });
  await waitForEnd(caller, two.thread);
});

it("a budget that is newer than the question counts", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const input = { name: crypto.randomUUID() };
  await (await caller.fetch(`/threads/${thread}/runs/wait`, { body: { assistant_id: "longer", input } })).text();
  const [question] = await listQuestions(caller, thread);
  const { path } = await link(caller, thread, question!);
  await put(caller, "each-run", { per: "run", tokens: TOKENS });
  expect((await give(path, "yes")).status).toBe(200);
  const asks = async () => (await listQuestions(caller, thread)).map(({ value }) => value);
  await expect.poll(asks).toMatchObject([{ type: "budget", budget: "each-run", spent: TOKENS }]);
});
