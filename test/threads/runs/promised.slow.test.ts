/** What a run has promised is carried out, also when its thread or the run is deleted first. */
import "../../support/graphs.ts";
import { createHmac } from "node:crypto";
import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { threadsFor } from "../../../src/automation/crons/fire.ts";
import { deleteCronsOn } from "../../../src/automation/crons/store.ts";
import { deleteThreads } from "../../../src/threads/api/delete.ts";
import { threadStub } from "../../../src/threads/remote.ts";
import { Gather } from "../../../src/traces/partition/write/write.ts";
import { message1, result } from "../../protocols/a2a/rpc.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { failStorage } from "../../support/failing-storage.ts";
import { expectNothingStored, measureStored } from "../../support/stored.ts";
import { stubFetch } from "../../support/stub-fetch.ts";
import { newThread, say } from "../client.ts";
import { expire, TTL } from "./expire.ts";
import { changeRow, rowsIn, tablesIn } from "../../support/thread-tables.ts";

interface Sent {
  headers: Headers;
  text: string;
  answered: number;
}

let caller: Caller;
/** The receiver's address. Each test has its own, because effects of an earlier one may still be under way. */
let hook: string;
let secret: string;
let sent: Sent[];
/** What the receiver does. */
let answer: () => Promise<Response>;

const isDown = async () => new Response("", { status: 503 });
const isUp = async () => new Response();

beforeEach(async () => {
  sent = [];
  answer = isDown;
  hook = `https://promised.example/${crypto.randomUUID()}`;
  stubFetch(async (url, { headers, body }) => {
    if (url !== hook) return new Response();
    const one = { headers: new Headers(headers), text: body as string, answered: 0 };
    sent.push(one);
    const response = await answer();
    one.answered = response.status;
    return response;
  });
  caller = await newCaller();
  secret = (await (await caller.fetch("/api/v1/webhook-secrets", { body: {} })).json<{ secret: string }>()).secret;
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const getStub = (thread: string) => env.THREAD.getByName(`${caller.workspaceId}:${thread}`);
const parseBody = ({ text }: Sent) => JSON.parse(text) as Record<string, unknown>;
const readDeliveryId = ({ headers }: Sent) => headers.get("weir-delivery") ?? "";
const listTaken = () => sent.filter(({ answered }) => answered === 200);

/** A run that has ended, and whose webhook has failed at least once. Without `thread` it is stateless. */
async function failedWebhook(thread?: string, content = "hello"): Promise<{ thread: string; run: string }> {
  const known = new Set(sent.map(readDeliveryId));
  const path = thread ? `/threads/${thread}/runs/wait` : "/runs/wait";
  const waited = await caller.fetch(path, {
    body: { assistant_id: "echo", input: say(content), webhook: hook, if_not_exists: "create" },
  });
  await waited.text();
  const [, , id = "", , run = ""] = (waited.headers.get("location") ?? "").split("/");
  await expect
    .poll(() => sent.some((one) => !known.has(readDeliveryId(one)) && one.answered > 0), { timeout: 10_000 })
    .toBe(true);
  return { thread: id, run };
}

/** Runs the object's alarm until `done` holds. */
async function untilDone(thread: string, done: () => boolean | Promise<boolean>): Promise<void> {
  const step = async () => {
    await runDurableObjectAlarm(getStub(thread));
    return done();
  };
  await expect.poll(step, { timeout: 30_000 }).toBe(true);
}

const isEmpty = (thread: string) => async () => (await measureStored(getStub(thread))).bytes === 0;

async function expectEmpty(thread: string): Promise<void> {
  await untilDone(thread, isEmpty(thread));
  await expectNothingStored(getStub(thread));
}

/** Every attempt had the same delivery id, the last one was taken, its signature is right, and its body says this. */
function expectDelivered(attempts: Sent[], body: object): void {
  expect(new Set(attempts.map(readDeliveryId)).size).toBe(1);
  expect(attempts.map(({ answered }) => answered === 200)).toEqual(attempts.map((_, n) => n === attempts.length - 1));
  const { headers, text } = attempts.at(-1)!;
  const [, time, mac] = /^t=(\d+),v1=(\w+)$/.exec(headers.get("weir-signature") ?? "") ?? [];
  const signed = `${time}.${headers.get("weir-delivery")}.${text}`;
  expect(mac).toBe(createHmac("sha256", secret).update(signed).digest("hex"));
  expect(JSON.parse(text)).toMatchObject(body);
}

const ranOn = ({ thread, run }: { thread: string; run: string }, content = "hello") => ({
  run_id: run,
  thread_id: thread,
  status: "success",
  workspace_id: caller.workspaceId,
  delivery_id: expect.any(String) as string,
  webhook_sent_at: expect.stringMatching(/Z$/) as string,
  values: { messages: [{ content }, { content: `You said: ${content}` }] },
});

/** Each way to delete a thread. */
const WAYS: Record<string, (thread: string) => Promise<unknown>> = {
  "DELETE /threads/{id}": (thread) => caller.fetch(`/threads/${thread}`, { method: "DELETE" }),
  "DELETE /api/threads/{id}": (thread) => caller.fetch(`/api/threads/${thread}`, { method: "DELETE" }),
  "a prune": (thread) => caller.fetch("/threads/prune", { body: { thread_ids: [thread] } }),
  "a deletion of the workspace's threads": () => deleteThreads(env, caller.workspaceId, deleteCronsOn),
  "a cron": (thread) => threadsFor(env).remove(caller.workspaceId, thread),
  "its TTL": (thread) => expire(() => getStub(thread), TTL),
};

/** The tables of the thread that have rows. */
const listTables = (thread: string) => runInDurableObject(getStub(thread), (_, { storage }) => tablesIn(storage));

/** The effects that the object is still to carry out. */
const readOutbox = (thread: string) =>
  runInDurableObject(getStub(thread), (_, { storage }) => rowsIn(storage, "SELECT id FROM outbox"));

describe.each(Object.entries(WAYS))("a thread that is deleted by %s", (_, remove) => {
  it("still calls its webhook, and then leaves nothing", async () => {
    const ran = await failedWebhook(await newThread(caller));
    await remove(ran.thread);
    expect((await caller.fetch(`/threads/${ran.thread}`)).status).toBe(404);
    expect((await caller.fetch(`/threads/${ran.thread}/runs/${ran.run}`)).status).toBe(404);
    expect(await listTables(ran.thread)).toEqual(["outbox"]);
    const found = await caller.fetch("/threads/search", { body: { ids: [ran.thread] } });
    expect(await found.json()).toEqual([]);
    answer = isUp;
    await untilDone(ran.thread, () => listTaken().length > 0);
    await expectEmpty(ran.thread);
    expectDelivered(sent, ranOn(ran));
  });
});

describe("a webhook", () => {
  it("of a stateless run is called after its thread has gone", async () => {
    const ran = await failedWebhook();
    await expire(() => getStub(ran.thread), { temporary: { until: 1 } });
    expect(await listTables(ran.thread)).toEqual(["outbox"]);
    answer = isUp;
    await expectEmpty(ran.thread);
    expectDelivered(sent, ranOn(ran));
  });

  it("is called after kills before and after the deletion, and without the alarm that was set", async () => {
    const ran = await failedWebhook(await newThread(caller));
    // The process stops after the call is made of the run, and before the thread is deleted.
    const object = (statement: string) => statement.startsWith("DELETE FROM thread WHERE kind NOT IN");
    const { sql } = await runInDurableObject(getStub(ran.thread), (_, { storage }) => storage);
    const restore = failStorage(sql, { object });
    expect((await caller.fetch(`/threads/${ran.thread}`, { method: "DELETE" })).status).toBe(500);
    await abortAllDurableObjects();
    restore();
    expect((await caller.fetch(`/threads/${ran.thread}/runs/${ran.run}`)).status).toBe(200);
    expect((await caller.fetch(`/threads/${ran.thread}`, { method: "DELETE" })).status).toBe(204);
    await runInDurableObject(getStub(ran.thread), (_, { storage }) => storage.deleteAlarm());
    await abortAllDurableObjects();
    answer = isUp;
    expect((await caller.fetch(`/threads/${ran.thread}`)).status).toBe(404);
    await expectEmpty(ran.thread);
    expectDelivered(sent, ranOn(ran));
  });

  it("that is under way, also by the alarm, while the thread is deleted and made again is called once", async () => {
    let release = (): void => undefined;
    answer = async () => {
      await new Promise<void>((resolve) => (release = resolve));
      return new Response();
    };
    const thread = await newThread(caller);
    const body = { assistant_id: "echo", input: say("hello"), webhook: hook };
    await (await caller.fetch(`/threads/${thread}/runs/wait`, { body })).text();
    await expect.poll(() => sent.length, { timeout: 10_000 }).toBe(1);
    const alarm = runDurableObjectAlarm(getStub(thread));
    expect((await caller.fetch(`/threads/${thread}`, { method: "DELETE" })).status).toBe(204);
    expect(await listTables(thread)).toEqual(["outbox"]);
    await caller.fetch("/threads", { body: { thread_id: thread } });
    release();
    await alarm;
    expect(await listTables(thread)).toContain("thread");
    await untilDone(thread, async () => (await readOutbox(thread)).length === 0);
    await abortAllDurableObjects();
    expect((await caller.fetch(`/threads/${thread}`)).status).toBe(200);
    await caller.fetch(`/threads/${thread}`, { method: "DELETE" });
    await expectEmpty(thread);
    expect(sent.map(({ answered }) => answered)).toEqual([200]);
  });

  it("is given up after the last attempt, and then the deleted thread leaves nothing", async () => {
    const { thread } = await failedWebhook(await newThread(caller));
    await caller.fetch(`/threads/${thread}`, { method: "DELETE" });
    for (let attempts = 1; !(await isEmpty(thread)()); attempts += 1) {
      expect(attempts).toBeLessThan(10);
      await runInDurableObject(getStub(thread), (_, { storage }) => {
        for (const { id = null } of rowsIn(storage, "SELECT id FROM outbox"))
          changeRow(storage, "outbox", { id }, { due: 0 });
      });
      await abortAllDurableObjects();
      await runDurableObjectAlarm(getStub(thread));
    }
    await expectNothingStored(getStub(thread));
    expect(sent).toHaveLength(9);
    expect(new Set(sent.map(readDeliveryId)).size).toBe(1);
  });

  it("of a run that is deleted is called", async () => {
    const ran = await failedWebhook(await newThread(caller));
    const path = `/threads/${ran.thread}/runs/${ran.run}`;
    expect((await caller.fetch(path, { method: "DELETE" })).status).toBe(204);
    expect((await caller.fetch(path)).status).toBe(404);
    answer = isUp;
    await untilDone(ran.thread, () => listTaken().length > 0);
    expectDelivered(sent, ranOn(ran));
  });

  it("of a run that is rolled back is called, without the state that is deleted", async () => {
    answer = isUp;
    const thread = await newThread(caller);
    const body = { assistant_id: "actor", input: say("forever"), webhook: hook };
    const { run_id } = await (await caller.fetch(`/threads/${thread}/runs`, { body })).json<{ run_id: string }>();
    const path = `/threads/${thread}/runs/${run_id}`;
    expect((await caller.fetch(`${path}/cancel?wait=1&action=rollback`, { method: "POST" })).status).toBeLessThan(300);
    expect((await caller.fetch(path)).status).toBe(404);
    await expect.poll(() => listTaken().length, { timeout: 10_000 }).toBe(1);
    expectDelivered(sent, { run_id, thread_id: thread, status: "interrupted", values: {} });
  });

  it("of a run that the deletion of its thread stops is called", async () => {
    answer = isUp;
    const thread = await newThread(caller);
    const body = { assistant_id: "actor", input: say("forever"), webhook: hook };
    const { run_id } = await (await caller.fetch(`/threads/${thread}/runs`, { body })).json<{ run_id: string }>();
    await caller.fetch(`/threads/${thread}`, { method: "DELETE" });
    await expectEmpty(thread);
    expectDelivered(sent, { run_id, status: "interrupted" });
  });
});

describe("a new thread with the id of a deleted one", () => {
  it("keeps its own data and effects apart from those that the other one left", async () => {
    // Its body is too long for a row.
    const long = "水".repeat(200_000);
    const first = await failedWebhook(await newThread(caller), long);
    const { thread } = first;
    await caller.fetch(`/threads/${thread}`, { method: "DELETE" });
    expect((await listTables(thread)).toSorted()).toEqual(["blobs", "outbox"]);
    const second = await failedWebhook(thread, "again");
    await abortAllDurableObjects();
    const state = await (await caller.fetch(`/threads/${thread}/state`)).json();
    expect(state).toMatchObject({ values: ranOn(second, "again").values });
    expect(await (await caller.fetch(`/threads/${thread}/runs`)).json()).toMatchObject([{ run_id: second.run }]);
    expect((await caller.fetch(`/threads/${thread}/runs/${first.run}`)).status).toBe(404);
    answer = isUp;
    await untilDone(thread, () => listTaken().length === 2);
    const listAttempts = ({ run }: { run: string }) => sent.filter((one) => parseBody(one).run_id === run);
    expectDelivered(listAttempts(first), ranOn(first, long));
    expectDelivered(listAttempts(second), ranOn(second, "again"));
    // The long text has gone with its effect.
    const texts = () =>
      runInDurableObject(getStub(thread), (_, { storage }) => rowsIn(storage, "SELECT hash FROM blobs"));
    await expect.poll(texts).toEqual([]);
    await caller.fetch(`/threads/${thread}`, { method: "DELETE" });
    await expectEmpty(thread);
  });

  it("may be a copy of a third one, or not be made at all", async () => {
    const source = await failedWebhook(await newThread(caller));
    const { thread, run } = await failedWebhook(await newThread(caller), "left");
    await caller.fetch(`/threads/${thread}`, { method: "DELETE" });
    const supersteps = [{ updates: [{ values: {}, as_node: "no such node" }] }];
    const body = { thread_id: thread, metadata: { graph_id: "echo" }, supersteps };
    expect((await caller.fetch("/threads", { body })).ok).toBe(false);
    expect(await listTables(thread)).toEqual(["outbox"]);
    const copy = threadStub(env, caller.workspaceId, thread);
    await copy.copyFrom(source.thread);
    answer = isUp;
    await untilDone(thread, () => listTaken().some((one) => parseBody(one).run_id === run));
    expectDelivered(
      sent.filter((one) => parseBody(one).run_id === run),
      ranOn({ thread, run }, "left"),
    );
    expect(await copy.get()).toMatchObject({ values: ranOn(source).values });
  });
});

describe("a push notification", () => {
  /** A task that waits for an answer, and whose notification has failed at least once. */
  async function failPush() {
    const configuration = { taskPushNotificationConfig: { url: hook, token: "t0k" } };
    const { task } = await result(caller, "SendMessage", { message: message1("ask"), configuration });
    const isTold = () => sent.some((one) => one.answered > 0 && one.text.includes("INPUT_REQUIRED"));
    await expect.poll(isTold, { timeout: 20_000 }).toBe(true);
    const [thread = "", run = ""] = (task.id as string).split(":");
    // A beginning that failed is overtaken.
    sent = sent.filter(({ text }) => text.includes("INPUT_REQUIRED"));
    // The address of a link is sealed again at each reading.
    const text = JSON.stringify(await result(caller, "GetTask", { id: task.id }));
    const address: unknown = expect.any(String);
    const now = JSON.parse(text, (name, value: unknown) => (name === "answer_url" ? address : value)) as object;
    return { thread, run, now };
  }

  it.each(["its TTL", "DELETE /threads/{id}"])("is sent after the thread is deleted by %s", async (way) => {
    const { thread, now } = await failPush();
    await WAYS[way]?.(thread);
    expect((await caller.fetch(`/threads/${thread}`)).status).toBe(404);
    await abortAllDurableObjects();
    answer = isUp;
    await expectEmpty(thread);
    expectDelivered(sent, { task: now });
    expect(sent.at(-1)?.headers.get("x-a2a-notification-token")).toBe("t0k");
    expect((await caller.fetch(`/threads/${thread}`)).status).toBe(404);
  });

  it("is sent after its run is deleted", async () => {
    const { thread, run, now } = await failPush();
    expect((await caller.fetch(`/threads/${thread}/runs/${run}`, { method: "DELETE" })).status).toBe(204);
    answer = isUp;
    await untilDone(thread, () => listTaken().length > 0);
    expectDelivered(sent, { task: now });
  });
});

it("is called for each of many threads that are deleted as soon as their runs end", async () => {
  answer = isUp;
  const makeEach = async (n: number) => {
    const deleteThread = async (thread: string) => {
      expect((await caller.fetch(`/threads/${thread}`, { method: "DELETE" })).status).toBe(204);
      return thread;
    };
    if (n % 2 === 0) {
      const taskPushNotificationConfig = { url: hook };
      const { task } = await result(caller, "SendMessage", {
        message: message1("hello"),
        configuration: { taskPushNotificationConfig },
      });
      return deleteThread((task.id as string).split(":")[0] ?? "");
    }
    const thread = await newThread(caller);
    const body = { assistant_id: "echo", input: say("hello"), webhook: hook };
    await (await caller.fetch(`/threads/${thread}/runs/wait`, { body })).text();
    return deleteThread(thread);
  };
  const threads = await Promise.all(Array.from({ length: 12 }, (_, n) => makeEach(n)));
  for (const thread of threads) await expectEmpty(thread);
  const ends = sent.filter(({ text }) => !text.includes("TASK_STATE_WORKING"));
  expect(new Set(sent.map(readDeliveryId)).size).toBe(sent.length);
  for (const thread of threads) expect(ends.filter(({ text }) => text.includes(thread))).toHaveLength(1);
});

describe("a trace", () => {
  const places: [place: string, add: () => Promise<never>, tables: string[]][] = [
    ["in the thread's row", () => new Promise(() => undefined), []],
    ["in the outbox", () => Promise.reject(new Error("Not now.")), ["outbox"]],
  ];

  it.each(places)("that waits %s is stored after the thread is deleted", async (_, add, tables) => {
    const gathering = vi.spyOn(Gather.prototype, "add").mockImplementation(add);
    const thread = await newThread(caller);
    const body = { assistant_id: "echo", input: say("hello") };
    await (await caller.fetch(`/threads/${thread}/runs/wait`, { body })).text();
    const listMade = async () => (await listTables(thread)).filter((name) => name === "outbox");
    await expect.poll(listMade, { timeout: 10_000 }).toEqual(tables);
    await caller.fetch(`/threads/${thread}`, { method: "DELETE" });
    await abortAllDurableObjects();
    gathering.mockRestore();
    await expectEmpty(thread);
    const [project] = await (await caller.fetch("/api/v1/sessions?name=default")).json<{ id: string }[]>();
    const query = { session: [project?.id], is_root: true };
    const found = await caller.fetch("/api/v1/runs/query", { body: query });
    expect((await found.json<{ runs: object[] }>()).runs).toHaveLength(1);
  });
});
