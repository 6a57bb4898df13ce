/** Storage that a newer version wrote: each object answers 503 and changes nothing, until the newer version is back. */
import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { FORMATS } from "../../src/lib/object-tables.ts";
import { type Caller, newCaller } from "../support/caller.ts";
import { NOON, sentRun } from "../support/traces.ts";
import { get, newThread, say } from "../threads/client.ts";
import { likeEarlierVersions, recordIn } from "../support/thread-tables.ts";

let caller: Caller;
beforeEach(async () => {
  caller = await newCaller();
});

const body = { assistant_id: "echo", input: say("hello") };
/** A new stub each time: a restart breaks it. */
type Stub = () => DurableObjectStub;

/** All rows of the object, without the platform's own tables. */
const readRows = (stub: Stub) =>
  runInDurableObject(stub(), (_, { storage: { sql } }) => {
    const tables = sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'").toArray();
    const own = tables.filter(({ name }) => !name.startsWith("_cf_"));
    return own.map(({ name }) => [name, sql.exec(`SELECT * FROM ${name}`).toArray()]);
  });

/** Writes a format with `sql` (one parameter), and restarts the objects. */
async function setFormat(stub: Stub, sql: string, format: number): Promise<void> {
  await runInDurableObject(stub(), (_, { storage }) => void storage.sql.exec(sql, format));
  await abortAllDurableObjects();
}

const ofThread = "UPDATE thread SET record = json_set(record, '$.format', ?) WHERE record IS NOT NULL";
const ofMeta = "UPDATE meta SET value = ? WHERE name = 'format'";

async function expectRefused(stub: Stub, calls: () => Promise<Response>[]): Promise<void> {
  const before = await readRows(stub);
  for (const response of await Promise.all(calls())) {
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ detail: expect.stringContaining("newer version of Weir") });
  }
  await runDurableObjectAlarm(stub());
  expect(await readRows(stub)).toEqual(before);
}

describe("a thread", () => {
  it("is refused, and its alarm waits", async () => {
    const thread = await newThread(caller);
    await caller.fetch(`/threads/${thread}/runs/wait`, { body });
    const stub = () => env.THREAD.getByName(`${caller.workspaceId}:${thread}`);
    await setFormat(stub, ofThread, FORMATS.thread + 1);
    await expectRefused(stub, () => [
      caller.fetch(`/threads/${thread}`),
      caller.fetch(`/threads/${thread}/runs`),
      caller.fetch(`/threads/${thread}/state`),
      caller.fetch(`/threads/${thread}/runs`, { body }),
      caller.fetch(`/threads/${thread}/runs/stream`, { body }),
      caller.fetch(`/threads/${thread}`, { method: "DELETE" }),
    ]);
    const alarm = await runInDurableObject(stub(), (_, { storage }) => storage.getAlarm());
    expect(alarm).toBeGreaterThan(Date.now());
    await setFormat(stub, ofThread, FORMATS.thread);
    expect(await get<unknown[]>(caller, `/threads/${thread}/runs`)).toHaveLength(1);
  });

  it("of an older format gets this one when it is opened", async () => {
    const thread = crypto.randomUUID();
    const stub = () => env.THREAD.getByName(`${caller.workspaceId}:${thread}`);
    await runInDurableObject(stub(), (_, { storage }) => likeEarlierVersions(storage));
    await abortAllDurableObjects();
    await caller.fetch(`/threads`, { body: { thread_id: thread } });
    await setFormat(stub, ofThread, 0);
    await get(caller, `/threads/${thread}`);
    const read = () => runInDurableObject(stub(), (_, { storage }) => recordIn(storage).format);
    expect(await read()).toBe(1);
  });
});

it("a shard of the index of threads is refused", async () => {
  await newThread(caller);
  const stub = () => env.THREAD_INDEX.getByName(`${caller.workspaceId}:0`);
  await setFormat(stub, ofMeta, FORMATS.index + 1);
  await expectRefused(stub, () => [
    caller.fetch("/threads/search", { body: {} }),
    caller.fetch("/threads/count", { body: {} }),
  ]);
  await setFormat(stub, ofMeta, FORMATS.index);
  expect(await (await caller.fetch("/threads/count", { body: {} })).json()).toBe(1);
});

it("a day of traces is refused", async () => {
  const run = sentRun(NOON);
  expect((await caller.fetch("/runs/batch", { body: { post: [run] } })).status).toBe(202);
  const [project] = await get<{ id: string }[]>(
    caller,
    `/api/v1/sessions?name=${encodeURIComponent(run.session_name)}`,
  );
  const day = new Date(NOON / 1000).toISOString().slice(0, 10);
  const stub = () => env.TRACE_PARTITION.getByName(`${caller.workspaceId}/${project?.id}/${day}`);
  await setFormat(stub, ofMeta, FORMATS.partition + 1);
  await expectRefused(stub, () => [
    caller.fetch("/runs/query", { body: { session: [project?.id] } }),
    caller.fetch("/runs/batch", { body: { post: [sentRun(NOON)] } }),
  ]);
  await setFormat(stub, ofMeta, FORMATS.partition);
  expect(await get(caller, `/api/v1/runs/${run.id}`)).toMatchObject({ id: run.id });
});
