/** Runs with ids of all kinds, as programs outside send them, against a list of what was sent. */
import { env, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { segment, dayBounds } from "../../../../src/traces/time.ts";
import { deleteTraces, keepWrites, tracesBegunHere } from "../../../../src/traces/partition/write/delete.ts";
import { putFeedback } from "../../../../src/traces/partition/feedback.ts";
import { findHeldIds } from "../../../../src/traces/partition/store/meta.ts";
import { readPage } from "../../../../src/traces/partition/read/page.ts";
import { queryRuns, storedIds } from "../../../../src/traces/partition/read/read.ts";
import { closable } from "../../../../src/traces/partition/blocks/blocks.ts";
import { closeBlock } from "../../../../src/traces/partition/write/close.ts";
import { partitionStats } from "../../../../src/traces/partition/stats/stats.ts";
import { PARTITION_SCHEMA } from "../../../../src/traces/partition/store/tables.ts";
import { ObjectTables } from "../../../../src/lib/object-tables.ts";
import { applyWrites } from "../../../../src/traces/partition/write/write.ts";
import type { RunSelection } from "../../../../src/traces/rpc.ts";
import type { RunWrite, StoredFeedback } from "../../../../src/traces/types.ts";
import { priceTable } from "../../../../src/limits/prices/prices.ts";
import { seeded } from "../../../support/random.ts";
import { DAY, NOON, uuid7 } from "../../../support/traces.ts";

const IDENTITY = { workspaceId: "w", projectId: "p", day: DAY, shard: 0, traceTier: "longlived" as const };
const WHOLE = { order: "asc" as const, after: null, limit: 10_000, maxBytes: 64_000_000, payloads: [] };
const DAY_BOUNDS = dayBounds(DAY);

/** A run as the list has it. */
interface Known {
  id: string;
  trace: string;
  name: string;
  start: number;
  feedback: boolean;
}

const feedbackOn = (id: string, run_id: string, trace_id: string): StoredFeedback => ({
  id,
  run_id,
  trace_id,
  session_id: "p",
  key: "seen",
  score: 1,
  value: null,
  comment: null,
  correction: null,
  error: false,
  feedback_source: { type: "api" },
  feedback_config: null,
  feedback_group_id: null,
  comparative_experiment_id: null,
  extra: null,
  created_at: "2026-11-20T16:00:00.000Z",
  modified_at: "2026-11-20T16:00:00.000Z",
});

function expectRead(sql: SqlStorage, list: Map<string, Known>, gone: Set<string>): void {
  const all = [...list.values()].sort((a, b) => a.start - b.start || (a.id < b.id ? -1 : 1));
  const ids = all.map(({ id }) => id);
  const read = (selection: RunSelection) =>
    queryRuns(sql, IDENTITY, { ...WHOLE, ...selection }).runs.map(({ id, name }) => `${id} ${name}`);
  const listShown = (known: Known[]) => known.map(({ id, name }) => `${id} ${name}`);
  expect(read({})).toEqual(listShown(all));
  expect(read({ ids: [...ids, ...gone] })).toEqual(listShown(all));
  expect(storedIds(sql, [...ids, ...gone]).sort()).toEqual([...ids].sort());
  expect(findHeldIds(sql, ids, []).sort()).toEqual([...ids].sort());
  const roots = all.filter(({ id, trace }) => id === trace);
  expect(read({ isRoot: true })).toEqual(listShown(roots));
  expect(tracesBegunHere(sql, ids).sort()).toEqual([...ids].sort());
  expect(read({ filter: 'eq(feedback_key, "seen")' })).toEqual(listShown(all.filter(({ feedback }) => feedback)));
  expect(partitionStats(sql, IDENTITY, {}).run_count).toBe(all.length);
  const page = readPage(sql, IDENTITY, {
    fields: ["id", "name"],
    startTime: DAY_BOUNDS.start,
    endTime: DAY_BOUNDS.end,
    filter: null,
    after: null,
    limit: 10_000,
    maxBytes: 64_000_000,
  } as never);
  expect(page.rows).toBe(all.length);
  for (const known of all.slice(0, 12)) {
    expect(read({ ids: [known.id] })).toEqual(listShown([known]));
    expect(read({ filter: `eq(id, "${known.id}")` })).toEqual(listShown([known]));
    expect(read({ filter: `not(eq(id, "${known.id}"))` })).toHaveLength(all.length - 1);
    const trace = all.filter((one) => one.trace === known.trace);
    expect(read({ traceId: known.trace })).toEqual(listShown(trace));
    expect(read({ treeFilter: `eq(id, "${known.id}")` })).toEqual(listShown(trace));
    expect(read({ traceFilter: `eq(id, "${known.trace}")` })).toEqual(listShown(trace));
  }
}

it("are each read once on every path", async () => {
  const random = seeded("ids");
  const chance = (share: number) => random.next() < share;
  const pick = <T>(items: T[]) => items[random.between(0, items.length)] as T;
  let made = 0;
  const tail = () => (made++).toString(16).padStart(12, "0");
  const DAY_US = 86_400_000_000;
  /** True times, false ones, and ids that only look like those with a time. */
  const newId = (start: number): string =>
    pick([
      () => uuid7(start, tail()),
      () => uuid7(start, tail()),
      () => uuid7(start - DAY_US, tail()),
      () => uuid7(start + 400 * DAY_US, tail()),
      () => uuid7(start + 1_000, tail()),
      () => uuid7(0, tail()),
      () => `ffffffff-ffff-7fff-8fff-${tail()}`,
      () => uuid7(start, tail()).replace("-7000-8000-", "-7000-c000-"),
      () => uuid7(start, tail()).replace("-7000-8000-", "-4000-8000-"),
    ])();
  await runInDurableObject(env.TRACE_PARTITION.getByName(crypto.randomUUID()), (_, { storage }) => {
    const { sql } = storage;
    new ObjectTables(storage, PARTITION_SCHEMA).make();
    const list = new Map<string, Known>();
    const gone = new Set<string>();
    const late: RunWrite[] = [];
    const starts = [NOON, NOON, NOON + 1, NOON + 1_000, NOON + 7_000, DAY_BOUNDS.start, DAY_BOUNDS.end - 1_000];
    for (let step = 0; step < 60; step += 1) {
      const writes: RunWrite[] = [];
      for (let n = 1 + random.between(0, 12); n > 0; n -= 1) {
        const known = chance(0.4) && list.size > 0 ? pick([...list.values()]) : undefined;
        if (known && !gone.has(known.trace)) {
          // The same run again: as a late post, which says nothing new, or as a patch that may move its start.
          const start_time = chance(0.4) ? pick(starts) : undefined;
          const name = `patched ${step} ${n}`;
          writes.push({ kind: "patch", id: known.id, trace_id: known.trace, name, ...(start_time && { start_time }) });
          list.set(known.id, { ...known, name, start: start_time ?? known.start });
          continue;
        }
        const start = pick(starts);
        const roots = [...list.values()].filter(({ id, trace }) => id === trace);
        const id = newId(start);
        const trace = chance(0.3) || roots.length === 0 ? id : pick(roots).trace;
        const dotted_order = id === trace ? segment(start, id) : `${segment(NOON, trace)}.${segment(start, id)}`;
        const post: RunWrite = { kind: "post", id, trace_id: trace, dotted_order, start_time: start, name: "posted" };
        if (chance(0.3)) {
          const name = `early ${step} ${n}`;
          writes.push({ kind: "patch", id, trace_id: trace, dotted_order, start_time: start, name });
          if (chance(0.5)) writes.push(post);
          list.set(id, { id, trace, name, start, feedback: false });
        } else {
          writes.push(post);
          if (chance(0.2)) writes.push(post);
          list.set(id, { id, trace, name: "posted", start, feedback: false });
        }
      }
      storage.transactionSync(() => {
        const kept = keepWrites(sql, "prefix/", writes);
        expect(kept).toHaveLength(writes.length);
        applyWrites(sql, "prefix/", DAY_BOUNDS, kept, priceTable(undefined));
      });
      const one = pick([...list.values()]);
      if (chance(0.3)) {
        storage.transactionSync(() => putFeedback(sql, feedbackOn(crypto.randomUUID(), one.id, one.trace)));
        list.set(one.id, { ...one, feedback: true });
      }
      if (chance(0.1)) {
        storage.transactionSync(() => deleteTraces(sql, "prefix/", [one.trace]));
        for (const { id, trace } of list.values())
          if (trace === one.trace) {
            list.delete(id);
            gone.add(id);
          }
        late.push({ kind: "patch", id: one.id, name: "late" });
      }
      if (chance(0.1)) for (const block of closable(sql, true)) storage.transactionSync(() => closeBlock(sql, block));
      if (step % 6 === 0 && list.size > 0) expectRead(sql, list, gone);
    }
    expectRead(sql, list, gone);
    expect(late).not.toEqual([]);
    expect(keepWrites(sql, "prefix/", late)).toEqual([]);
    const timed = sql
      .exec<{ timed: number; n: number }>("SELECT timed, count(*) AS n FROM runs GROUP BY timed")
      .toArray();
    expect(timed.map((row) => row.timed)).toEqual([0, 1]);
  });
});

it("10,000 of one millisecond are found by few rows each", async () =>
  runInDurableObject(env.TRACE_PARTITION.getByName(crypto.randomUUID()), (_, { storage }) => {
    const { sql } = storage;
    new ObjectTables(storage, PARTITION_SCHEMA).make();
    const root = uuid7(NOON, "f".repeat(12));
    const ids = Array.from({ length: 10_000 }, (_, i) => uuid7(NOON, i.toString(16).padStart(12, "0")));
    const writes = ids.map((id): RunWrite => ({
      kind: "post",
      id,
      trace_id: root,
      dotted_order: `${segment(NOON, root)}.${segment(NOON, id)}`,
      start_time: NOON,
    }));
    storage.transactionSync(() => applyWrites(sql, "prefix/", DAY_BOUNDS, writes, priceTable(undefined)));
    storage.transactionSync(() => applyWrites(sql, "prefix/", DAY_BOUNDS, writes, priceTable(undefined)));
    expect(sql.exec("SELECT count(*) AS n FROM runs").one()).toEqual({ n: 10_000 });
    expect(storedIds(sql, ids)).toHaveLength(10_000);
    let rowsRead = 0;
    const counting = {
      exec: (text: string, ...values: SqlStorageValue[]) => {
        const cursor = sql.exec(text, ...values);
        const rows = cursor.toArray();
        rowsRead += cursor.rowsRead;
        return Object.assign(rows, { toArray: () => rows, raw: () => rows.map((row) => Object.values(row)) });
      },
    } as unknown as SqlStorage;
    const reads: [string, () => unknown][] = [
      ["ids", () => queryRuns(counting, IDENTITY, { ...WHOLE, ids: [ids[5_000] as string] })],
      ["filter", () => queryRuns(counting, IDENTITY, { ...WHOLE, filter: `eq(id, "${ids[5_000]}")` })],
      ["held", () => findHeldIds(counting, [ids[5_000] as string], [])],
      ["stored", () => storedIds(counting, [ids[5_000] as string])],
    ];
    for (const [what, work] of reads) {
      rowsRead = 0;
      work();
      expect(`${what} ${rowsRead < 40 ? "few" : rowsRead}`).toBe(`${what} few`);
    }
  }));
