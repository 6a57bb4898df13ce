/** A thread that an earlier version has made keeps its tables, also in the middle of a run, and works as one of this version. */
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { FORMATS } from "../../../src/lib/object-tables.ts";
import { TABLE_NAMES, type TableName, type SqlRow, Statements } from "../../../src/threads/store/statements.ts";
import { Tables } from "../../../src/threads/store/tables.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { failStorage } from "../../support/failing-storage.ts";
import { generator, type Random, createRandom, SEED } from "../../support/random.ts";
import { likeEarlierVersions, recordIn, rowsIn } from "../../support/thread-tables.ts";
import { get, newThread, say, stream } from "../client.ts";

const getStub = (caller: Caller, thread: string) => env.THREAD.getByName(`${caller.workspaceId}:${thread}`);

/** The tables that SQLite has for a thread. */
const listTables = ({ sql }: DurableObjectStorage): string[] =>
  sql
    .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'")
    .toArray()
    .map(({ name }) => name)
    .filter((name) => (TABLE_NAMES as string[]).includes(name));

/** A thread whose object has the tables of an earlier version. */
async function oldThread(caller: Caller): Promise<string> {
  const thread_id = crypto.randomUUID();
  await runInDurableObject(getStub(caller, thread_id), (_, { storage }) => likeEarlierVersions(storage));
  await abortAllDurableObjects();
  await caller.fetch("/threads", { body: { thread_id } });
  return thread_id;
}

/** What the API says of a thread after some runs, a prune, a copy and a restart, without what differs from thread to thread. */
async function readTold(caller: Caller, thread: string) {
  await stream(caller, thread, { assistant_id: "agent", input: say("What is 17 * 24?") });
  await stream(caller, thread, { assistant_id: "approval", input: say("send it") });
  await abortAllDurableObjects();
  await stream(caller, thread, { assistant_id: "approval", command: { resume: "approve" } });
  await stream(caller, thread, { assistant_id: "echo", input: say("x".repeat(600_000)) });
  const history = (await get<object[]>(caller, `/threads/${thread}/history?limit=100`)).length;
  const runs = await get<{ run_id: string; status: string }[]>(caller, `/threads/${thread}/runs`);
  const events: string[] = [];
  for (const { run_id } of runs) {
    const replay = await (await caller.fetch(`/threads/${thread}/runs/${run_id}/stream`)).text();
    events.push(...(replay.match(/^event: .*$/gm) ?? []));
  }
  const copy = await (await caller.fetch(`/threads/${thread}/copy`, { method: "POST" })).json<{ thread_id: string }>();
  const copied = (await get<object[]>(caller, `/threads/${copy.thread_id}/history?limit=100`)).length;
  await caller.fetch("/threads/prune", { body: { thread_ids: [thread], strategy: "keep_latest" } });
  const kept = (await get<object[]>(caller, `/threads/${thread}/history?limit=100`)).length;
  const { values } = await get<{ values: { messages: { content: string }[] } }>(caller, `/threads/${thread}/state`);
  const texts = values.messages.map(({ content }) => content);
  return { history, statuses: runs.map(({ status }) => status), events: events.sort(), copied, kept, texts, copy };
}

describe("a thread of an earlier version", () => {
  it("keeps its tables, and answers as one of this version", async () => {
    const caller = await newCaller();
    const [before, now] = [await oldThread(caller), await newThread(caller)];
    const { copy, ...old } = await readTold(caller, before);
    const { copy: _, ...fresh } = await readTold(caller, now);
    expect(old).toEqual(fresh);
    const listMade = (thread: string) =>
      runInDurableObject(getStub(caller, thread), (_thread, { storage }) => listTables(storage));
    expect(await listMade(before)).toEqual(expect.arrayContaining(["thread", "runs", "segments", "packs", "blobs"]));
    expect(await listMade(now)).toEqual(["thread"]);
    expect(await listMade(copy.thread_id)).toEqual(["thread"]);
    const readFormat = (thread: string) =>
      runInDurableObject(getStub(caller, thread), (_thread, { storage }) => recordIn(storage).format);
    expect(await readFormat(copy.thread_id)).toBe(FORMATS.thread);
  });

  it("that is deleted leaves nothing, and a new one of its id has the shared table", async () => {
    const caller = await newCaller();
    const thread = await oldThread(caller);
    await caller.fetch(`/threads/${thread}`, { method: "DELETE" });
    await caller.fetch("/threads", { body: { thread_id: thread } });
    expect(await runInDurableObject(getStub(caller, thread), (_, { storage }) => listTables(storage))).toEqual([
      "thread",
    ]);
  });
});

it("the version before finds a format that it does not know, also where a thread was deleted", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  await stream(caller, thread, { assistant_id: "echo", input: say("hello") });
  const readRecord = () =>
    runInDurableObject(getStub(caller, thread), (_, { storage: { sql } }) => {
      const [row] = sql.exec<{ record: string }>("SELECT record FROM thread").toArray();
      return JSON.parse(row?.record ?? "") as { format: number };
    });
  expect((await readRecord()).format).toBe(FORMATS.thread);
  await runInDurableObject(getStub(caller, thread), (_, { storage }) => {
    const tables = new Tables(storage);
    tables.outbox.add("webhook-call", "{}");
    tables.leaveOutbox();
    expect(tables.thread()).toBeUndefined();
    expect(rowsIn(storage, "SELECT id FROM outbox")).toHaveLength(1);
    expect(rowsIn(storage, "SELECT first_seq FROM segments")).toEqual([]);
  });
  expect(await readRecord()).toEqual({ format: FORMATS.thread });
});

it("the version before leaves a deleted thread alone whose trace has moved from its row to the shared table", async () => {
  const caller = await newCaller();
  const thread = await oldThread(caller);
  await runInDurableObject(getStub(caller, thread), (_, { storage }) => {
    storage.sql.exec("DROP TABLE IF EXISTS tasks");
    const tables = new Tables(storage);
    tables.outbox.keepTrace("[]");
    tables.putThread(tables.thread() ?? "");
    tables.leaveOutbox();
    expect(tables.thread()).toBeUndefined();
    expect(rowsIn(storage, "SELECT kind FROM outbox")).toEqual([{ kind: "trace" }]);
    const records = storage.sql.exec<{ record: string | null }>("SELECT record FROM thread").toArray();
    expect(JSON.parse(records[0]?.record ?? "null")).toEqual({ format: FORMATS.thread });
  });
});

it.each([false, true])(
  "a deletion that fails at any statement changes nothing; of an earlier version: %s",
  async (isOld) => {
    const caller = await newCaller();
    await runInDurableObject(getStub(caller, crypto.randomUUID()), (_, { storage }) => {
      if (isOld) likeEarlierVersions(storage);
      const tables = new Tables(storage);
      const [call, trace] = [`"${"c".repeat(600_000)}"`, `["${"t".repeat(600_000)}"]`];
      tables.outbox.add("task", "{}");
      tables.outbox.add("webhook-call", call);
      tables.outbox.keepTrace(trace);
      tables.putThread("{}");
      tables.runs.insert({ run_id: "r", created: 1, status: "success", request: "{}", outcome: null });
      tables.putBlob("hash", "of a state");
      const effects = () => new Tables(storage).outbox.due(Date.now(), ["task", "webhook-call", "trace"], 8);
      const readHeld = () => [tables.thread(), tables.runs.get("r"), tables.blob("hash"), effects().length];
      const before = readHeld();
      const left: unknown[] = [];
      let [failed, isDone] = [0, false];
      for (; !isDone; failed += 1) {
        let statement = 0;
        const end = failStorage(storage.sql, { object: () => statement++ === failed });
        try {
          tables.leaveOutbox();
          isDone = true;
        } catch {
          left.push(readHeld());
        } finally {
          end();
        }
      }
      expect(left.length).toBeGreaterThan(5);
      expect(left).toEqual(left.map(() => before));
      expect([tables.thread(), tables.runs.get("r"), tables.blob("hash")]).toEqual([undefined, undefined, ""]);
      expect(effects().map(({ kind, body }) => [kind, body])).toEqual([
        ["webhook-call", call],
        ["trace", trace],
      ]);
      // A new thread of the same id.
      tables.putThread("{}");
      expect(effects()).toHaveLength(2);
      for (const { id } of effects()) tables.outbox.remove(id);
      expect(tables.thread()).toBe("{}");
      expect(rowsIn(storage, "SELECT hash FROM blobs")).toEqual([]);
    });
  },
);

describe("the two layouts", () => {
  const KEYS: Partial<Record<TableName, (random: Random) => SqlRow>> = {
    runs: (random) => ({ run_id: `run ${random.between(0, 4)}` }),
    segments: (random) => ({ first_seq: random.between(0, 5), n: random.between(0, 3) }),
    packs: (random) => ({ last_id: `1${random.between(0, 5)}`, n: random.between(0, 3) }),
    writes: (random) => ({
      ns: ["", "a", "a|b"][random.between(0, 3)] as string,
      checkpoint_id: `${random.between(0, 3)}`,
      n: random.between(0, 3),
    }),
    heads: (random) => ({ ns: `${random.between(0, 4)}` }),
    outbox: (random) => ({ id: random.between(0, 4) }),
  };
  const VALUES: Partial<Record<TableName, (random: Random) => SqlRow>> = {
    runs: (random) => ({ created: random.between(0, 9), status: "pending", request: "{}", outcome: null }),
    segments: (random) => ({
      last_seq: random.between(0, 9),
      events: "[]",
      metas: "x".repeat(random.between(0, 2) * 600_000),
      chunks: "[]",
    }),
    packs: (random) => ({ first_id: `1${random.between(0, 5)}`, entries: "[1]" }),
    writes: () => ({ body: "[]" }),
    heads: (random) => ({ id: `${random.between(0, 9)}` }),
    outbox: (random) => ({ kind: "task", body: "{}", attempts: random.between(0, 3), due: random.between(0, 9) }),
  };
  const READS: [TableName, string][] = [
    ["runs", "SELECT * FROM runs WHERE status = 'pending' ORDER BY created DESC, run_id DESC LIMIT 2 OFFSET 1"],
    ["segments", "SELECT first_seq, n, last_seq FROM segments ORDER BY first_seq DESC, n DESC LIMIT 1"],
    [
      "segments",
      `SELECT first_seq, n, last_seq, events, metas, chunks FROM segments WHERE (first_seq, n) > (1, 1) AND last_seq > 2
       ORDER BY first_seq, n LIMIT 4`,
    ],
    ["segments", "SELECT max(first_seq) at FROM segments WHERE first_seq <= 3"],
    ["packs", "SELECT last_id, n FROM packs WHERE (last_id, n) < ('13', 1) ORDER BY last_id DESC, n DESC LIMIT 8"],
    ["writes", "SELECT * FROM writes WHERE ns = 'a' AND checkpoint_id = '1' ORDER BY n"],
    ["writes", "SELECT count(*) count, sum(length(body)) bytes FROM writes"],
    ["heads", "SELECT ns FROM heads WHERE id > '4' ORDER BY ns"],
    ["outbox", "SELECT * FROM outbox ORDER BY id"],
  ];

  /** What the reads give while rows come, change and go, and how many rows are left. */
  async function playSteps(isOld: boolean): Promise<unknown[]> {
    const random = createRandom(generator(SEED));
    const caller = await newCaller();
    return runInDurableObject(getStub(caller, crypto.randomUUID()), (_, { storage }) => {
      if (isOld) likeEarlierVersions(storage);
      const statements = new Statements(storage.sql);
      const seen: unknown[] = [];
      for (let step = 0; step < 600; step += 1) {
        const table = Object.keys(KEYS)[random.between(0, 6)] as TableName;
        const [key, values] = [KEYS[table]?.(random) ?? {}, VALUES[table]?.(random) ?? {}];
        const what = random.between(0, 5);
        if (what < 2) statements.insert(table, { ...key, ...values }, what === 0 ? "keep" : "replace");
        else if (what === 2) statements.update(table, key, values);
        else if (what === 3) statements.remove(table, key);
        for (const [of, statement] of READS) if (of === table) seen.push([statement, statements.all(statement)]);
      }
      for (const table of Object.keys(KEYS)) seen.push(statements.all(`SELECT count(*) > 0 AS some FROM ${table}`));
      return JSON.parse(JSON.stringify(seen)) as unknown[];
    });
  }

  it("give the same rows for the same statements", async () => {
    const now = await playSteps(false);
    expect(now).toEqual(await playSteps(true));
    expect(now.slice(-6)).toEqual(Array.from({ length: 6 }, () => [{ some: 1 }]));
  });

  it("read a part of the rows by the key", async () => {
    const caller = await newCaller();
    await runInDurableObject(getStub(caller, crypto.randomUUID()), (_, { storage }) => {
      const statements = new Statements(storage.sql);
      for (let seq = 0; seq < 500; seq += 1) {
        statements.insert("segments", { first_seq: seq, n: 0, last_seq: seq, events: "[]", metas: "[]", chunks: "[]" });
        statements.insert("packs", { last_id: `${1_000 + seq}`, n: 0, first_id: `${1_000 + seq}`, entries: "[]" });
      }
      const spy = { read: 0 };
      const counting = new Statements({
        exec: (text: string, ...params: never[]) => {
          const cursor = storage.sql.exec(text, ...params);
          const rows = cursor.toArray();
          spy.read += cursor.rowsRead;
          return { toArray: () => rows, rowsWritten: 0 };
        },
      } as unknown as SqlStorage);
      const countRead = (statement: string) => {
        spy.read = 0;
        expect(counting.all(statement)).not.toEqual([]);
        return spy.read;
      };
      expect(countRead("SELECT first_seq FROM segments ORDER BY first_seq DESC, n DESC LIMIT 1")).toBeLessThan(5);
      expect(countRead("SELECT max(first_seq) at FROM segments WHERE first_seq <= 250")).toBeLessThan(5);
      expect(
        countRead("SELECT n FROM segments WHERE (first_seq, n) > (250, 0) ORDER BY first_seq, n LIMIT 4"),
      ).toBeLessThan(9);
      expect(countRead("SELECT n FROM packs WHERE last_id >= '1490' ORDER BY last_id LIMIT 8")).toBeLessThan(12);
      expect(countRead("SELECT n FROM packs ORDER BY last_id DESC, n DESC LIMIT 8")).toBeLessThan(12);
    });
  });
});
