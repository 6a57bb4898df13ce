/** A thread that is made for one run, which asks: it is kept while its interrupts wait, and deleted then. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, expect, it } from "vitest";
import { fireDueCrons, firingIds, startFiring, threadsFor } from "../../../src/automation/crons/fire.ts";
import { database } from "../../../src/db/client.ts";
import { threadObject } from "../../../src/threads/remote.ts";
import { connectSecond } from "../../protocols/mcp/connect.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import "../../support/pausing-graphs.ts";
import { recordIn } from "../../support/thread-tables.ts";
import { give, link, listQuestions, type Question, waitForEnd } from "../../threads/interrupts/ask.ts";
import { expire } from "../../threads/runs/expire.ts";

let caller: Caller;
beforeEach(async () => {
  caller = await newCaller();
});

const readStatus = async (thread: string) => (await caller.fetch(`/threads/${thread}`)).status;
const stub = (thread: string) => threadObject(env, caller.workspaceId, thread);
/** For how many days from now the thread is kept. */
const readDays = async (thread: string): Promise<number> =>
  runInDurableObject(stub(thread), (_, { storage }) => {
    const { kept } = recordIn<{ kept: { until: number } }>(storage);
    return (kept.until - Date.now()) / (24 * 3_600_000);
  });
/** The time passes for which the thread is kept. */
const pass = async (thread: string) => expire(() => stub(thread), { kept: { until: 1 } });
/** A cron whose threads are deleted fires, its run ends, and the next ticks clean up. */
async function fire(assistant_id: string, input: object = { said: [] }): Promise<string> {
  const body = { assistant_id, schedule: "* * * * *", input };
  const cron = await (await caller.fetch("/runs/crons", { body })).json<{ cron_id: string; next_run_date: string }>();
  const due = Date.parse(cron.next_run_date);
  const firing = { workspaceId: caller.workspaceId, cronId: cron.cron_id, due };
  const { threadId, runId } = firingIds(firing, undefined);
  const work = async (now: number) => {
    await fireDueCrons({ DB: env.DB, CRON_QUEUE: { sendBatch: async () => undefined } } as never, now);
    await startFiring(database(env.DB), firing, threadsFor(env), now);
  };
  await work(due);
  await caller.fetch(`/runs/crons/${cron.cron_id}`, { method: "DELETE" });
  await (await caller.fetch(`/threads/${threadId}/runs/${runId}/join`)).text();
  await work(due + 120_000);
  await work(due + 240_000);
  return threadId;
}

it("of a cron: a link answers a minute later, and the thread is deleted after that", async () => {
  const thread = await fire("plain");
  const [question] = await listQuestions(caller, thread);
  expect(question?.value).toBe("ask?");
  expect(await readDays(thread)).toBeGreaterThan(7);
  const { path } = await link(caller, thread, question as Question);
  expect((await give(path, "yes")).status).toBe(200);
  await waitForEnd(caller, thread);
  expect(await readDays(thread)).toBeLessThan(0.01);
  await pass(thread);
  expect(await readStatus(thread)).toBe(404);
});

it("of a cron: it is deleted with an interrupt that is never answered", async () => {
  const thread = await fire("plain");
  expect(await listQuestions(caller, thread)).toHaveLength(1);
  await pass(thread);
  expect(await readStatus(thread)).toBe(404);
});

it("of a cron whose run does not ask: it is deleted at once", async () => {
  const messages = [{ role: "user", content: "hi" }];
  expect(await readStatus(await fire("echo", { messages }))).toBe(404);
});

it("of an MCP call: it is kept until the answer, and deleted after that", async () => {
  const client = await connectSecond(caller.key);
  const called = await client.callTool({ name: "plain", arguments: { said: [] } });
  const { thread_id: thread } = called._meta as { thread_id: string };
  expect(await readDays(thread)).toBeGreaterThan(7);
  await client.callTool({ name: "answer_interrupt", arguments: { thread_id: thread, answer: "yes" } });
  expect(await readDays(thread)).toBeLessThan(0.01);
  await pass(thread);
  expect(await readStatus(thread)).toBe(404);
  await client.close();
});
