/** A day of which a trace is kept, while its other runs are deleted in several transactions. */
import { env, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { segment, dayBounds } from "../../../src/traces/time.ts";
import { dropExpired, keepTraces } from "../../../src/traces/partition/retention.ts";
import { identify, readMeta } from "../../../src/traces/partition/store/meta.ts";
import { PARTITION_SCHEMA } from "../../../src/traces/partition/store/tables.ts";
import { ObjectTables } from "../../../src/lib/object-tables.ts";
import { traceTree } from "../../../src/traces/partition/read/read.ts";
import { applyWrites } from "../../../src/traces/partition/write/write.ts";
import type { RunWrite } from "../../../src/traces/types.ts";
import { priceTable } from "../../../src/limits/prices/prices.ts";
import { DAY, NOON } from "../../support/traces.ts";

/** The runs of a trace, the root first. */
function trace(count: number): [RunWrite, ...RunWrite[]] {
  const id = crypto.randomUUID();
  const root = { kind: "post" as const, id, trace_id: id, dotted_order: segment(NOON, id), start_time: NOON };
  const below = Array.from({ length: count - 1 }, (): RunWrite => {
    const child = crypto.randomUUID();
    const dotted_order = `${root.dotted_order}.${segment(NOON, child)}`;
    return { ...root, id: child, parent_run_id: id, is_root: false, dotted_order };
  });
  return [{ ...root, is_root: true }, ...below];
}

it("continues after a restart, and leaves the trace that is kept whole", async () => {
  const identity = {
    workspaceId: crypto.randomUUID(),
    projectId: "p",
    day: DAY,
    shard: 0,
    traceTier: "shortlived",
  } as const;
  await runInDurableObject(env.TRACE_PARTITION.getByName(crypto.randomUUID()), async (_, { storage }) => {
    new ObjectTables(storage, PARTITION_SCHEMA).make();
    const { sql } = storage;
    identify(sql, identity);
    const kept = trace(50);
    // The second trace of 400 runs is there in part after the first 10,000.
    const traces = [trace(400), kept, ...Array.from({ length: 9_400 }, () => trace(1)), trace(400), trace(1)];
    let batch: RunWrite[] = [];
    const write = () => applyWrites(sql, "prefix/", dayBounds(DAY), batch, priceTable(undefined));
    for (const runs of traces) {
      batch.push(...runs);
      if (batch.length < 400) continue;
      write();
      batch = [];
    }
    write();
    keepTraces(sql, [kept[0].id]);
    const left = () => sql.exec<{ n: number }>("SELECT count(*) AS n FROM runs").one().n;
    expect(left()).toBe(10_251);
    const restart = () => {
      if (left() < 10_251) throw new Error("a restart");
      return true;
    };
    await expect(dropExpired(env, storage, identity, restart)).rejects.toThrow("a restart");
    expect(left()).toBe(251);
    expect(await dropExpired(env, storage, identity, () => true)).toBe(true);
    expect(left()).toBe(50);
    expect(readMeta(sql, "counts")?.rows).toBe(50);
    const tree = traceTree(sql, identity, kept[0].id, 100);
    expect(tree.map(({ id }) => id).toSorted()).toEqual(kept.map(({ id }) => id).toSorted());
  });
});
