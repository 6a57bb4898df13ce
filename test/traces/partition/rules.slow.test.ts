/** Which runs of a partition a rule takes: each once, in the order of their changes, at a cost that does not grow with what waits. */
import { env, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { segment, dayBounds } from "../../../src/traces/time.ts";
import { settleForRule, takeForRule } from "../../../src/traces/partition/rules.ts";
import { PARTITION_SCHEMA } from "../../../src/traces/partition/store/tables.ts";
import { ObjectTables } from "../../../src/lib/object-tables.ts";
import { applyWrites } from "../../../src/traces/partition/write/write.ts";
import type { RunWrite } from "../../../src/traces/types.ts";
import { priceTable } from "../../../src/limits/prices/prices.ts";
import { seeded } from "../../support/random.ts";
import { whileSeen } from "../../support/statements.ts";
import { DAY, NOON } from "../../support/traces.ts";

const IDENTITY = { workspaceId: "w", projectId: "p", day: DAY, shard: 0, traceTier: null };
const LEASE = 60_000;

const run = (id: string, end_time?: number): RunWrite => ({
  kind: "post",
  id,
  trace_id: id,
  is_root: true,
  dotted_order: segment(NOON, id),
  start_time: NOON,
  ...(end_time !== undefined && { end_time }),
});

function runInPartition(work: (storage: DurableObjectStorage) => Promise<void>): Promise<void> {
  return runInDurableObject(env.TRACE_PARTITION.getByName(crypto.randomUUID()), async (_, { storage }) => {
    new ObjectTables(storage, PARTITION_SCHEMA).make();
    await work(storage);
  });
}

const write = ({ sql }: DurableObjectStorage, writes: RunWrite[]) =>
  applyWrites(sql, "prefix/", dayBounds(DAY), writes, priceTable(undefined));

function take({ sql }: DurableObjectStorage, limit: number): { ids: string[]; more: boolean } {
  const reach = { since: 0 };
  const request = { rule: "rule", reading: "changes", reach, selection: {}, rate: 1, limit, lease: LEASE };
  const { runs, more } = takeForRule(sql, IDENTITY as never, request);
  settleForRule(
    sql,
    "rule",
    runs.map(({ id }) => ({ id, state: "done", cost: 0 })),
  );
  return { ids: runs.map(({ id }) => id), more };
}

it("takes each run that has ended once, whether it ended as it came or later", async () => {
  const random = seeded("rule takes");
  await runInPartition(async (storage) => {
    const ended = new Set<string>();
    const open: string[] = [];
    const taken: string[] = [];
    /** What has ended and was not taken, each time that the partition says that no more waits. */
    const missed: string[][] = [];
    for (let step = 0; step < 200; step++) {
      const count = random.between(0, 31);
      const writes = Array.from({ length: count }, () => {
        const isOld = open.length > 0 && random.between(0, 2) === 0;
        const id = isOld ? (open.splice(random.between(0, open.length), 1)[0] as string) : crypto.randomUUID();
        const ends = isOld || random.between(0, 2) === 0;
        if (ends) ended.add(id);
        else open.push(id);
        return run(id, ends ? NOON + 5 : undefined);
      });
      if (writes.length > 0) write(storage, writes);
      const { ids, more } = take(storage, random.between(1, 26));
      taken.push(...ids);
      if (!more) missed.push([...ended].filter((id) => !taken.includes(id)));
    }
    while (take(storage, 1_000).ids.map((id) => taken.push(id)).length > 0);
    expect(missed.length).toBeGreaterThan(10);
    expect(missed.flat()).toEqual([]);
    expect(taken).toHaveLength(ended.size);
    expect(new Set(taken)).toEqual(ended);
  });
});

it.each([
  { ends: "as they came", patched: 0 },
  { ends: "later", patched: 500 },
])("reads no more for one taking when ten times as many runs wait that ended $ends", async ({ patched }) => {
  const countRowsRead = async (waiting: number): Promise<number> => {
    let read = 0;
    await runInPartition(async (storage) => {
      let open: string[] = [];
      for (let at = 0; at < waiting; at += 500) {
        const ids = Array.from({ length: 500 }, () => crypto.randomUUID());
        const came = ids.map((id, place) => run(id, place < patched ? undefined : NOON + 5));
        write(storage, [...open.map((id) => run(id, NOON + 5)), ...came]);
        open = ids.slice(0, patched);
      }
      take(storage, 20);
      const cursors: { rowsRead: number }[] = [];
      await whileSeen(
        storage.sql,
        (cursor) => cursors.push(cursor),
        async () => void take(storage, 20),
      );
      read = cursors.reduce((sum, cursor) => sum + cursor.rowsRead, 0);
    });
    return read;
  };
  expect(await countRowsRead(30_000)).toBeLessThan(2 * (await countRowsRead(3_000)));
});
