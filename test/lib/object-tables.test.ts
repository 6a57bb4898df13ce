/** Storage that a newer version wrote: each object answers 503 and changes nothing, until the newer version is back. */
import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { FORMATS, ObjectTables, type TableSchema } from "../../src/lib/object-tables.ts";
import { type Caller, newCaller } from "../support/caller.ts";
import { NOON, sentRun } from "../support/traces.ts";
import { get, newThread, say } from "../threads/client.ts";

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

const ofThread = "UPDATE thread SET i = ? WHERE kind = ''";
const ofMeta = "UPDATE meta SET value = json_set(value, '$.format', ?) WHERE name = 'version'";

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

it("the limiter of a workspace is refused, and its alarm waits", async () => {
  const rules = { method: "PUT", body: { paused: true } };
  expect((await caller.fetch("/api/v1/flow/rules/one", rules)).status).toBeLessThan(300);
  const stub = () => env.LIMITER.getByName(caller.workspaceId);
  await setFormat(stub, ofMeta, FORMATS.limiter + 1);
  await runInDurableObject(stub(), (_, { storage }) => storage.setAlarm(Date.now() + 60_000));
  await expectRefused(stub, () => [caller.fetch("/api/v1/flow/use"), caller.fetch("/api/v1/flow/rules/two", rules)]);
  expect(await runInDurableObject(stub(), (_, { storage }) => storage.getAlarm())).toBeGreaterThan(Date.now());
  await setFormat(stub, ofMeta, FORMATS.limiter);
  expect((await caller.fetch("/api/v1/flow/use")).status).toBe(200);
});

it("the ledger of a workspace is refused", async () => {
  const budget = { method: "PUT", body: { per: "day", dollars: 1 } };
  expect((await caller.fetch("/api/v1/budgets/one", budget)).status).toBeLessThan(300);
  const stub = () => env.LEDGER.getByName(caller.workspaceId);
  await setFormat(stub, ofMeta, FORMATS.ledger + 1);
  await expectRefused(stub, () => [caller.fetch("/api/v1/budgets/use"), caller.fetch("/api/v1/budgets/two", budget)]);
  await setFormat(stub, ofMeta, FORMATS.ledger);
  expect((await caller.fetch("/api/v1/budgets/use")).status).toBe(200);
});

describe("the tables of an object", () => {
  const first: TableSchema = { kind: "ledger", steps: ["CREATE TABLE one (a TEXT)"] };
  const second: TableSchema = { ...first, steps: [...first.steps, "ALTER TABLE one ADD COLUMN b TEXT"] };
  const runInObject = (work: (storage: DurableObjectStorage) => void) =>
    runInDurableObject(env.LEDGER.getByName(crypto.randomUUID()), (_, { storage }) => work(storage));
  const listColumns = ({ sql }: DurableObjectStorage) =>
    sql
      .exec<{ name: string }>("SELECT name FROM pragma_table_info('one')")
      .toArray()
      .map(({ name }) => name);
  const readVersion = ({ sql }: DurableObjectStorage) =>
    JSON.parse(sql.exec<{ value: string }>("SELECT value FROM meta WHERE name = 'version'").one().value) as object;

  it("are made by the first write, and not by one that fails", async () =>
    runInObject((storage) => {
      const tables = new ObjectTables(storage, first);
      expect(tables.made).toBe(false);
      expect(() =>
        tables.write(() => {
          throw new Error("no");
        }),
      ).toThrow("no");
      expect([tables.made, listColumns(storage)]).toEqual([false, []]);
      tables.write(() => storage.sql.exec("INSERT INTO one VALUES ('x')"));
      expect([tables.made, listColumns(storage)]).toEqual([true, ["a"]]);
      expect(readVersion(storage)).toEqual({ format: FORMATS.ledger, steps: 1 });
    }));

  it("get the steps that they lack when they are opened, and an older version of the same format works on them", async () =>
    runInObject((storage) => {
      new ObjectTables(storage, first).write(() => storage.sql.exec("INSERT INTO one VALUES ('x')"));
      expect(new ObjectTables(storage, second).made).toBe(true);
      expect(listColumns(storage)).toEqual(["a", "b"]);
      expect(readVersion(storage)).toEqual({ format: FORMATS.ledger, steps: 2 });
      new ObjectTables(storage, first).write(() => storage.sql.exec("INSERT INTO one (a) VALUES ('y')"));
      expect(readVersion(storage)).toEqual({ format: FORMATS.ledger, steps: 2 });
      expect(new ObjectTables(storage, second).isNewer).toBe(false);
      expect(storage.sql.exec("SELECT * FROM one").toArray()).toEqual([
        { a: "x", b: null },
        { a: "y", b: null },
      ]);
    }));
});
