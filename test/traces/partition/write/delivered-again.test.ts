/** A trace that is delivered again, as after a restart of its thread's object, writes no row. */
import { env, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { segment, dayBounds } from "../../../../src/traces/time.ts";
import { PARTITION_SCHEMA } from "../../../../src/traces/partition/store/tables.ts";
import { ObjectTables } from "../../../../src/lib/object-tables.ts";
import { applyWrites } from "../../../../src/traces/partition/write/write.ts";
import type { RunWrite } from "../../../../src/traces/types.ts";
import { priceTable } from "../../../../src/limits/prices/prices.ts";
import { countRowsWritten } from "../../../support/rows-written.ts";
import { DAY, NOON, uuid7 } from "../../../support/traces.ts";

const [ROOT, MODEL] = [uuid7(NOON, "a".repeat(12)), uuid7(NOON + 1_000, "b".repeat(12))];
const toDottedOrder = (...ids: string[]) => ids.map((id, i) => segment(NOON + i * 1_000, id)).join(".");
const usage = { total_tokens: 12, prompt_tokens: 10, completion_tokens: 2 };

const trace = (tokens = usage): RunWrite[] => [
  {
    kind: "post",
    id: ROOT,
    trace_id: ROOT,
    is_root: true,
    dotted_order: toDottedOrder(ROOT),
    start_time: NOON,
    end_time: NOON + 9_000,
    inputs: { text: '{"a":1}' },
  },
  {
    kind: "post",
    id: MODEL,
    trace_id: ROOT,
    parent_run_id: ROOT,
    dotted_order: toDottedOrder(ROOT, MODEL),
    run_type: "llm",
    start_time: NOON + 1_000,
    end_time: NOON + 8_000,
    usage: tokens,
  },
];

it("writes no row, also where a run's totals include those below it", async () => {
  await runInDurableObject(env.TRACE_PARTITION.getByName(crypto.randomUUID()), async (_, { storage }) => {
    new ObjectTables(storage, PARTITION_SCHEMA).make();
    const { sql } = storage;
    const deliver = (writes: RunWrite[]) =>
      countRowsWritten(sql, async () => applyWrites(sql, "prefix/", dayBounds(DAY), writes, priceTable(undefined)));
    const totals = () => sql.exec("SELECT total_tokens, change FROM runs ORDER BY n").toArray();
    expect(await deliver(trace())).toBeGreaterThan(4);
    const before = totals();
    expect(before.map(({ total_tokens }) => total_tokens)).toEqual([12, 12]);
    expect(await deliver(trace())).toBe(0);
    expect(totals()).toEqual(before);
    // What is new is written, and summed.
    await deliver(trace({ ...usage, total_tokens: 20, completion_tokens: 10 }));
    expect(totals().map(({ total_tokens }) => total_tokens)).toEqual([20, 20]);
  });
});
