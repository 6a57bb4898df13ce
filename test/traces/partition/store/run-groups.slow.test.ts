/** The runs of traces and the runs that have changed, found by indexes that have only some runs (partition/store/ids.ts). */
import { env, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { firstInsertedAfter, lastChange } from "../../../../src/traces/partition/store/changes.ts";
import { DELETED_AT_ONCE, deleteTraces, groupRuns } from "../../../../src/traces/partition/write/delete.ts";
import { OF_IDS, OF_TRACES } from "../../../../src/traces/partition/store/ids.ts";
import { countChanged } from "../../../../src/traces/partition/read/page.ts";
import { PARTITION_SCHEMA } from "../../../../src/traces/partition/store/tables.ts";
import { ObjectTables } from "../../../../src/lib/object-tables.ts";
import { applyWrites } from "../../../../src/traces/partition/write/write.ts";
import { priceTable } from "../../../../src/limits/prices/prices.ts";
import { dayBounds } from "../../../../src/traces/time.ts";
import type { RunWrite } from "../../../../src/traces/types.ts";
import { seeded } from "../../../support/random.ts";
import { DAY, NOON, uuid7 } from "../../../support/traces.ts";

const IDENTITY = { workspaceId: "w", projectId: "p", day: DAY, shard: 0, traceTier: "longlived" as const };
const WINDOW = { startTime: 0, endTime: NOON * 2, filter: null };

/** Runs work on a new partition's tables. */
function runInTables(work: (sql: SqlStorage, storage: DurableObjectStorage) => void): Promise<void> {
  return runInDurableObject(env.TRACE_PARTITION.getByName(crypto.randomUUID()), (_, { storage }) => {
    new ObjectTables(storage, PARTITION_SCHEMA).make();
    work(storage.sql, storage);
  });
}

const apply = (sql: SqlStorage, writes: RunWrite[]) =>
  applyWrites(sql, "prefix/", dayBounds(DAY), writes, priceTable(undefined));

function expectFound(sql: SqlStorage): void {
  const all = sql
    .exec<{ n: number; trace_id: string; change: number; first_change: number }>(
      "SELECT n, trace_id, change, first_change FROM runs",
    )
    .toArray();
  for (const [trace, runs] of Map.groupBy(all, ({ trace_id }) => trace_id)) {
    const found = sql.exec(`SELECT n FROM runs WHERE n IN ${OF_TRACES} ORDER BY n`, JSON.stringify([trace])).raw();
    expect([...found].flat()).toEqual(runs.map(({ n }) => n).sort((a, b) => a - b));
  }
  const ids = sql.exec<{ n: number; id: string }>("SELECT n, id FROM runs").toArray();
  expect(new Set(ids.map(({ id }) => id)).size).toBe(ids.length);
  const given = JSON.stringify(ids.map(({ id }) => id));
  const named = [...sql.exec(`SELECT n FROM runs WHERE n IN ${OF_IDS} ORDER BY n`, given).raw()].flat();
  expect(named).toEqual(ids.map(({ n }) => n).sort((a, b) => a - b));
  for (const since of new Set([0, ...all.map(({ change }) => change)])) {
    const first = firstInsertedAfter(sql, since);
    expect(all.filter(({ n }) => n >= first).map(({ n }) => n)).toEqual(
      all.filter(({ first_change }) => first_change > since).map(({ n }) => n),
    );
    expect(countChanged(sql, IDENTITY, { ...WINDOW, since })).toBe(all.filter(({ change }) => change > since).length);
  }
}

const segment = (id: string) => `20260801T120000000000Z${id}`;

it("finds the same runs as a scan, after random writes", async () => {
  const random = seeded("groups");
  const pickBelow = (limit: number) => random.between(0, limit);
  const chance = (share: number) => random.next() < share;
  const pick = <T>(items: T[]) => items[pickBelow(items.length)];
  let made = 0;
  const newId = () => uuid7(NOON, (made++).toString(16).padStart(12, "0"));
  await runInTables((sql, storage) => {
    const runs: { id: string; trace: string }[] = [];
    for (let step = 0; step < 60; step++) {
      const traces = Array.from({ length: 1 + pickBelow(3) }, newId);
      const writes = Array.from({ length: 1 + pickBelow(8) }, (): RunWrite => {
        const known = pick(runs);
        const trace = chance(0.2) && known ? known.trace : (pick(traces) ?? newId());
        if (known && chance(0.3)) {
          const dotted_order = chance(0.5) ? `${segment(trace)}.${segment(known.id)}` : undefined;
          const start_time = chance(0.3) ? NOON + random.between(-4, 9) * 1000 : undefined;
          return { kind: "patch", id: known.id, start_time, end_time: NOON + 5, name: `n${step}`, dotted_order };
        }
        const isRoot = chance(0.3);
        const id = isRoot && runs.every((run) => run.id !== trace) ? trace : newId();
        runs.push({ id, trace });
        if (chance(0.2)) return { kind: "post", id, parent_run_id: pick(runs)?.id, start_time: NOON };
        const dotted_order = id === trace ? segment(id) : `${segment(trace)}.${segment(id)}`;
        return { kind: "post", id, trace_id: trace, dotted_order, start_time: NOON + pickBelow(1000) };
      });
      storage.transactionSync(() => apply(sql, writes));
      const known = pick(runs);
      if (known && chance(0.1)) storage.transactionSync(() => deleteTraces(sql, "prefix/", [known.trace]));
      expectFound(sql);
    }
  });
});

it("finds the rest of a trace whose deletion has begun", async () => {
  const trace = uuid7(NOON, "a".padStart(12, "0"));
  const count = DELETED_AT_ONCE + 50;
  await runInTables((sql, storage) => {
    const writes = Array.from({ length: count }, (_, i): RunWrite => {
      const id = i === 0 ? trace : uuid7(NOON, (i + 100).toString(16).padStart(12, "0"));
      const dotted_order = i === 0 ? segment(id) : `${segment(trace)}.${segment(id)}`;
      return { kind: "post", id, trace_id: trace, dotted_order, start_time: NOON + i, name: "run" };
    });
    storage.transactionSync(() => apply(sql, writes));
    expect(sql.exec("SELECT n FROM runs WHERE followers >= 0").toArray()).toHaveLength(1);
    expect(lastChange(sql)).toBeGreaterThan(0);
    expect(storage.transactionSync(() => deleteTraces(sql, "prefix/", [trace]))).toBe(DELETED_AT_ONCE);
    expectFound(sql);
    expect(storage.transactionSync(() => deleteTraces(sql, "prefix/", [trace]))).toBe(50);
  });
});

it("groups runs that stand beside each other, but not those whose place is derived", () => {
  const rows = ["a", "a", "b", "b", "b", "a"].map((trace_id, i) => ({
    trace_id,
    placed: i === 3 ? 0 : 1,
    followers: 7,
  }));
  groupRuns(rows);
  expect(rows.map(({ followers }) => followers)).toEqual([1, -1, 0, 0, 0, 0]);
});
