/** Copies of threads that no single message can hold, and copies that are disturbed. */
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeAll, expect, it, vi } from "vitest";
import { RemoteThread, threadObject, threadStub } from "../../../src/threads/remote.ts";
import type { ThreadRpc } from "../../../src/threads/rpc.ts";
import { abortsDuring } from "../../support/aborts.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { seeded } from "../../support/random.ts";
import { get, newThread, say, stream } from "../client.ts";
import { POLL_MS } from "../../support/thorough.ts";

type Json = Record<string, unknown>;

/** The platform's limit for one message between objects. */
const RPC_BYTES = 32 * 1024 * 1024;
const random = seeded("copies");

let caller: Caller;
let source: string;
beforeAll(async () => {
  caller = await newCaller();
  source = await newThread(caller, { metadata: { color: "red" } });
  for (let i = 0; i < 10; i++) {
    await stream(caller, source, {
      assistant_id: "echo",
      input: say(`${i} ${"x".repeat(800_000)}`),
      stream_mode: "custom",
    });
  }
}, 120_000);

afterEach(() => vi.restoreAllMocks());

const copy = () => caller.fetch(`/threads/${source}/copy`, { method: "POST" });

/** What clients see of a thread, with its own id written as "id" and without the moments it was made and changed. */
async function readThread(threadId: string): Promise<unknown> {
  const path = `/threads/${threadId}`;
  const [thread, state, history, storage] = await Promise.all(
    ["", "/state", "/history?limit=3", "/storage"].map((one) => get<Json>(caller, path + one)),
  );
  const { created_at: _, updated_at: __, metadata, ...rest } = thread as Json & { metadata: Json };
  const { thread_id: ___, ...own } = metadata;
  return JSON.parse(JSON.stringify({ rest, own, state, history, storage }).replaceAll(threadId, "id")) as unknown;
}

/** How many rows the object of this id holds. */
const readRows = (threadId: string) =>
  runInDurableObject(threadObject(env, caller.workspaceId, threadId), (_thread, { storage: { sql } }) => {
    const tables = sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'").toArray();
    const own = tables.map(({ name }) => name).filter((name) => !name.startsWith("_"));
    return own.reduce((sum, name) => sum + Number(sql.exec(`SELECT count(*) n FROM ${name}`).one().n), 0);
  });

it("one with a long state is answered without its values", async () => {
  const answer = await copy();
  expect(answer.status).toBe(200);
  const { thread_id, values } = await answer.json<{ thread_id: string; values: unknown }>();
  expect(values).toBeNull();
  expect(await get(caller, `/threads/${thread_id}/storage`)).toEqual({
    ...(await get<Json>(caller, `/threads/${source}/storage`)),
    thread_id,
  });
});

it("a thread larger than a message is copied whole, and continues by itself", { timeout: 60_000 }, async () => {
  // The state becomes short again, so that it can be read whole; its past stays.
  const values = { messages: [{ type: "remove", id: "__remove_all__" }] };
  expect((await caller.fetch(`/threads/${source}/state`, { body: { values } })).status).toBe(200);
  await stream(caller, source, { assistant_id: "echo", input: say("short") });
  const object = threadObject(env, caller.workspaceId, source);
  const size = await runInDurableObject(object, (_thread, { storage }) => storage.sql.databaseSize);
  expect(size).toBeGreaterThan(2 * RPC_BYTES);
  const answer = await copy();
  expect(answer.status).toBe(200);
  const { thread_id } = await answer.json<{ thread_id: string }>();
  expect(thread_id).not.toBe(source);
  expect(await readThread(thread_id)).toEqual(await readThread(source));
  await stream(caller, thread_id, { assistant_id: "echo", input: say("more") });
  const state = await get<{ values: { messages: Json[] } }>(caller, `/threads/${thread_id}/state`);
  expect(state.values.messages.map(({ content }) => content)).toEqual([
    "short",
    "You said: short",
    "more",
    "You said: more",
  ]);
  const found = await caller.fetch("/threads/search", { body: { ids: [thread_id], metadata: { color: "red" } } });
  expect(await found.json()).toHaveLength(1);
});

it("a thread whose run failed between two steps waits there", async () => {
  const thread = await newThread(caller);
  await stream(caller, thread, {
    assistant_id: "agent",
    input: say("What is 17 * 23?"),
    config: { recursion_limit: 1 },
  });
  expect(await get(caller, `/threads/${thread}`)).toMatchObject({ status: "error" });
  const { thread_id } = await (
    await caller.fetch(`/threads/${thread}/copy`, { body: {} })
  ).json<{ thread_id: string }>();
  const made = await get<{ status: string; error?: unknown }>(caller, `/threads/${thread_id}`);
  expect(made).toMatchObject({ status: "interrupted" });
  expect(made.error).toBeUndefined();
});

it("both objects may restart in the meantime", { timeout: 120_000 }, async () => {
  for (let round = 0; round < 2; round++) {
    const answer = await abortsDuring(random, copy(), 2, 1_000);
    expect(answer.status).toBe(200);
    const { thread_id } = await answer.json<{ thread_id: string }>();
    expect(await readThread(thread_id)).toEqual(await readThread(source));
  }
});

/** What the copy's object does before it requests its third page. Counts how often it begins. */
function beforeThirdPage(work: (source: RemoteThread) => Promise<unknown>): { begun: number } {
  // oxlint-disable-next-line typescript/unbound-method -- called below with the object that it is called on
  const { copyPage } = RemoteThread.prototype;
  const counted = { begun: 0 };
  let pages = 0;
  vi.spyOn(RemoteThread.prototype, "copyPage").mockImplementation(async function (this: RemoteThread, from) {
    pages = from === undefined ? 1 : pages + 1;
    if (pages === 1) counted.begun += 1;
    if (pages === 3) await work(this);
    return copyPage.call(this, from);
  });
  return counted;
}

it("one that fails half-way leaves nothing", async () => {
  const target = crypto.randomUUID();
  let reached = false;
  beforeThirdPage(async () => {
    reached = true;
    await new Promise(() => {});
  });
  // The object itself, whose call is not made again.
  const object: ThreadRpc = threadObject(env, caller.workspaceId, target);
  const copying = object.copyFrom(source).then(
    () => "copied",
    () => "failed",
  );
  await vi.waitUntil(() => reached, POLL_MS);
  await abortAllDurableObjects();
  expect(await copying).toBe("failed");
  expect(await readRows(target)).toBe(0);
  expect((await caller.fetch(`/threads/${target}`)).status).toBe(404);
});

it("one of a thread that changes all the time is refused, and leaves nothing", async () => {
  const target = crypto.randomUUID();
  beforeThirdPage((thread) => thread.patch({ metadata: { now: Date.now() } }));
  const copying = threadStub(env, caller.workspaceId, target).copyFrom(source);
  await expect(copying).rejects.toThrow(/^Problem:409:The thread changed/);
  expect(await readRows(target)).toBe(0);
  vi.restoreAllMocks();
  // The next one succeeds.
  expect(await threadStub(env, caller.workspaceId, target).copyFrom(source)).toMatchObject({ thread_id: target });
});

it("one whose source changes and restarts begins again", async () => {
  const restart = () =>
    runInDurableObject(threadObject(env, caller.workspaceId, source), (_thread, state) => state.abort("restart")).catch(
      () => undefined,
    );
  // From here on the source has written nothing since it woke, both before and after its next restart.
  await restart();
  const counted = beforeThirdPage(async (thread) => {
    if (counted.begun > 1) return;
    await thread.patch({ metadata: { color: "blue" } });
    await restart();
  });
  const answer = await copy();
  expect(answer.status).toBe(200);
  expect(counted.begun).toBe(2);
  const { thread_id } = await answer.json<{ thread_id: string }>();
  expect(await readThread(thread_id)).toEqual(await readThread(source));
});

it("one of a thread that does not exist is refused", async () => {
  const answer = await caller.fetch(`/threads/${crypto.randomUUID()}/copy`, { method: "POST" });
  expect(answer.status).toBe(409);
});

it("a copy expires when its source does", async () => {
  const ttl = { strategy: "delete", ttl: 60 };
  const made = await caller.fetch("/threads", { body: { ttl } });
  const { thread_id: from } = await made.json<{ thread_id: string }>();
  const answer = await caller.fetch(`/threads/${from}/copy`, { method: "POST" });
  const { thread_id } = await answer.json<{ thread_id: string }>();
  const object = threadObject(env, caller.workspaceId, thread_id);
  const alarm = await runInDurableObject(object, (_thread, { storage }) => storage.getAlarm());
  const { ttl: shown } = await get<{ ttl: { expires_at: string } }>(caller, `/threads/${thread_id}?include=ttl`);
  // The alarm comes earlier when the index row is still to be written.
  expect(alarm).toBeLessThanOrEqual(Date.parse(shown.expires_at));
});

it("a copy of a stateless run's thread stays and is listed", async () => {
  const body = { assistant_id: "agent", input: say("count to 200") };
  const run = await (await caller.fetch("/runs", { body })).json<{ run_id: string }>();
  const answer = await caller.fetch(`/threads/${run.run_id}/copy`, { method: "POST" });
  expect(answer.status).toBe(200);
  const { thread_id } = await answer.json<{ thread_id: string }>();
  const found = await caller.fetch("/threads/search", { body: { ids: [thread_id] } });
  expect(await found.json()).toHaveLength(1);
});
