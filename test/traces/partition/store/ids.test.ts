/** Runs that are found by the time in their ids, without an entry in the index of ids (partition/store/ids.ts). */
import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { segment, dayBounds } from "../../../../src/traces/time.ts";
import { OF_TRACES, isTimed, numbersOfIds, OF_IDS } from "../../../../src/traces/partition/store/ids.ts";
import { PARTITION_SCHEMA } from "../../../../src/traces/partition/store/tables.ts";
import { ObjectTables } from "../../../../src/lib/object-tables.ts";
import { applyWrites } from "../../../../src/traces/partition/write/write.ts";
import { priceTable } from "../../../../src/limits/prices/prices.ts";
import type { RunWrite } from "../../../../src/traces/types.ts";
import { DAY, NOON, uuid7 } from "../../../support/traces.ts";

const runInTables = (work: (sql: SqlStorage) => void) =>
  runInDurableObject(env.TRACE_PARTITION.getByName(crypto.randomUUID()), (_, { storage }) => {
    new ObjectTables(storage, PARTITION_SCHEMA).make();
    work(storage.sql);
  });

const apply = (sql: SqlStorage, ...writes: RunWrite[]) =>
  applyWrites(sql, "prefix/", dayBounds(DAY), writes, priceTable(undefined));

const toDottedOrder = (...ids: string[]) => ids.map((id) => segment(NOON, id)).join(".");

const ROOT = uuid7(NOON, "a".repeat(12));

/** A run below a root. */
const post = (id: string, more: Partial<RunWrite> = {}): RunWrite => ({
  kind: "post",
  id,
  trace_id: ROOT,
  parent_run_id: ROOT,
  dotted_order: toDottedOrder(ROOT, id),
  start_time: NOON,
  name: "run",
  ...more,
});

interface Kept extends Record<string, SqlStorageValue> {
  id: string;
  name: string;
  timed: number;
  change: number;
}
const listAll = (sql: SqlStorage) => sql.exec<Kept>("SELECT id, name, timed, change FROM runs ORDER BY n").toArray();
const findIds = (sql: SqlStorage, ...ids: string[]) =>
  sql
    .exec<{ id: string }>(`SELECT id FROM runs WHERE n IN ${OF_IDS} ORDER BY n`, JSON.stringify(ids))
    .toArray()
    .map(({ id }) => id);

/** An id of version 7 with a time, microseconds. */
let made = 0;
const idAt = (time: number) => uuid7(time, (made++).toString(16).padStart(12, "0"));

describe("a run", () => {
  it.each([
    [0, 1],
    [1, 0],
    [1_000, 0],
    [-1_000, 0],
  ])("whose start is %i microseconds after the time in its id is found by it: %i", async (apart, timed) =>
    runInTables((sql) => {
      const id = idAt(NOON);
      apply(sql, post(id, { start_time: NOON + apart }));
      expect(listAll(sql)).toMatchObject([{ timed }]);
      apply(sql, { kind: "patch", id, name: "patched" });
      expect(listAll(sql)).toMatchObject([{ name: "patched", timed }]);
      expect(findIds(sql, id)).toEqual([id]);
    }),
  );

  it("with an id of another kind is found by the index of ids", async () =>
    runInTables((sql) => {
      const ids = [crypto.randomUUID(), "01a2141f-7040-45c3-9ffe-15f2babe8633", "ffffffff-ffff-7fff-8fff-ffffffffffff"];
      apply(sql, ...ids.map((id) => post(id)));
      expect(listAll(sql).map(({ timed }) => timed)).toEqual([0, 0, 0]);
      expect(findIds(sql, ...ids)).toEqual(ids);
      expect(findIds(sql, "", "no id", idAt(NOON))).toEqual([]);
    }));

  it("whose start moves away from the time in its id, and back, is one run", async () =>
    runInTables((sql) => {
      const id = idAt(NOON);
      apply(sql, post(id));
      for (const [start_time, timed] of [
        [NOON + 1_000_000, 0],
        [NOON, 0],
      ] as const) {
        apply(sql, { kind: "patch", id, start_time });
        expect(listAll(sql)).toMatchObject([{ timed }]);
        expect(findIds(sql, id)).toEqual([id]);
      }
    }));
});

it("a run below a root writes two rows, a root and one with an id of another kind three, and the first of a group without its root one more", async () =>
  runInTables((sql) => {
    const root = idAt(NOON);
    const createBelow = (id: string) =>
      post(id, { trace_id: root, parent_run_id: root, dotted_order: toDottedOrder(root, id) });
    const top = (id: string): RunWrite => ({
      kind: "post",
      id,
      trace_id: id,
      start_time: NOON,
      dotted_order: toDottedOrder(id),
    });
    const countWritten = (...writes: RunWrite[]) => {
      let rows = 0;
      const counting = {
        exec: (statement: string, ...values: SqlStorageValue[]) => {
          const cursor = sql.exec(statement, ...values);
          if (statement.startsWith("INSERT INTO runs")) rows += cursor.rowsWritten;
          return cursor;
        },
      } as unknown as SqlStorage;
      apply(counting, ...writes);
      return rows;
    };
    const [one, two] = [idAt(NOON), idAt(NOON)];
    expect(countWritten(top(root), createBelow(one))).toBe(5);
    expect(countWritten(top(idAt(NOON)))).toBe(3);
    const more = idAt(NOON);
    expect(countWritten(createBelow(two), createBelow(more))).toBe(5);
    expect(countWritten(createBelow(crypto.randomUUID()), createBelow(crypto.randomUUID()))).toBe(7);
  }));

it("a lookup reads a few rows of a day with many", async () =>
  runInTables((sql) => {
    const ids = Array.from({ length: 2_000 }, (_, i) => idAt(NOON + i * 30_000));
    const others = Array.from({ length: 500 }, () => crypto.randomUUID());
    apply(sql, ...ids.map((id, i) => post(id, { start_time: NOON + i * 30_000 })), ...others.map((id) => post(id)));
    const wanted = [ids[1_000], ids[1_999], others[7]] as string[];
    const cursor = sql.exec(`SELECT id FROM runs WHERE n IN ${OF_IDS}`, JSON.stringify(wanted));
    expect(cursor.toArray()).toHaveLength(3);
    expect(cursor.rowsRead).toBeLessThan(60);
    const roots = Array.from({ length: 500 }, () => idAt(NOON));
    apply(
      sql,
      ...roots.map((id): RunWrite => ({
        kind: "post",
        id,
        trace_id: id,
        dotted_order: toDottedOrder(id),
        start_time: NOON,
      })),
    );
    const traces = sql.exec(`SELECT id FROM runs WHERE n IN ${OF_TRACES}`, JSON.stringify([roots[3], roots[400]]));
    expect(traces.toArray()).toHaveLength(2);
    expect(traces.rowsRead).toBeLessThan(60);
    const list = sql.exec(`SELECT n FROM runs WHERE n IN ${numbersOfIds("SELECT value AS id FROM json_each('[]')")}`);
    expect(list.toArray()).toEqual([]);
  }));

it("says of an id without a time that it has none", () => {
  expect(isTimed(crypto.randomUUID(), NOON)).toBe(false);
});
