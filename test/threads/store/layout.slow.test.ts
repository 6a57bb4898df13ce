/** The one table of SQLite that holds the tables of a thread. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { FORMATS } from "../../../src/lib/object-tables.ts";
import { Statements } from "../../../src/threads/store/statements.ts";
import { Tables } from "../../../src/threads/store/tables.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { failStorage } from "../../support/failing-storage.ts";
import { rowsIn } from "../../support/thread-tables.ts";
import { newThread, say, stream } from "../client.ts";

const getStub = (caller: Caller, thread: string) => env.THREAD.getByName(`${caller.workspaceId}:${thread}`);

it("a deleted thread leaves its format and what its outbox has", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  await stream(caller, thread, { assistant_id: "echo", input: say("hello") });
  await runInDurableObject(getStub(caller, thread), (_, { storage }) => {
    const readVersions = () => storage.sql.exec("SELECT k1, i, j FROM thread WHERE kind = ''").toArray();
    expect(readVersions()).toEqual([{ k1: 1, i: FORMATS.thread, j: 1 }]);
    const tables = new Tables(storage);
    tables.outbox.add("webhook-call", "{}");
    tables.leaveOutbox();
    expect(tables.thread()).toBeUndefined();
    expect(rowsIn(storage, "SELECT id FROM outbox")).toHaveLength(1);
    expect(rowsIn(storage, "SELECT first_seq FROM segments")).toEqual([]);
    expect(readVersions()).toEqual([{ k1: 0, i: FORMATS.thread, j: 1 }]);
  });
});

it("a deletion that fails at any statement changes nothing", async () => {
  const caller = await newCaller();
  await runInDurableObject(getStub(caller, crypto.randomUUID()), (_, { storage }) => {
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
});

describe("statements on the shared table", () => {
  it("read a part of the rows by the key", async () => {
    const caller = await newCaller();
    await runInDurableObject(getStub(caller, crypto.randomUUID()), (_, { storage }) => {
      const statements = new Statements(storage);
      for (let seq = 0; seq < 500; seq += 1) {
        statements.insert("segments", { first_seq: seq, n: 0, last_seq: seq, events: "[]", metas: "[]", chunks: "[]" });
        statements.insert("packs", { last_id: `${1_000 + seq}`, n: 0, first_id: `${1_000 + seq}`, entries: "[]" });
      }
      const spy = { read: 0 };
      const sql = {
        exec: (text: string, ...params: never[]) => {
          const cursor = storage.sql.exec(text, ...params);
          const rows = cursor.toArray();
          spy.read += cursor.rowsRead;
          return { toArray: () => rows, one: () => rows[0], rowsWritten: 0 };
        },
      } as unknown as SqlStorage;
      const counting = new Statements({ sql, transactionSync: (work) => work() });
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
