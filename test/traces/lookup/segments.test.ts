/** The entries of the index of ids, beside a plain map. */
import { env, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { eachHash, hashIds, withDay } from "../../../src/traces/lookup/entries.ts";
import { SEGMENT_TABLES, Segments } from "../../../src/traces/lookup/segments.ts";

/** Fewer than a segment of the second kind takes, and more than one of the first. */
const BATCHES = 36;
const BATCH = 32_768;
const DAYS = 300;

it(
  "a million ids are found with their days, a row for thousands of them, also after a restart",
  { timeout: 60_000 },
  async () => {
    const stub = env.TRACE_INDEX.getByName(crypto.randomUUID());
    await runInDurableObject(stub, (_, { storage: { sql } }) => {
      sql.exec(SEGMENT_TABLES);
      const days = new Set(Array.from({ length: DAYS }, (__, n) => n));
      const segments = new Segments(sql, () => days);
      const kept: { id: string; day: number }[] = [];
      for (let batch = 0; batch < BATCHES; batch++) {
        const day = batch % DAYS;
        // Ids of the same millisecond differ at their ends only.
        const ids = Array.from(
          { length: BATCH },
          (__, n) => `019a0000-0000-7000-8000-${String(batch * BATCH + n).padStart(12, "0")}`,
        );
        segments.add(withDay(hashIds(ids), day));
        for (const id of [ids[0], ids[777], ids.at(-1)]) kept.push({ id: id as string, day });
      }
      const rows = sql
        .exec<{ n: number }>(
          "SELECT (SELECT count(*) FROM recent) + (SELECT count(*) FROM segments) + (SELECT count(*) FROM chunks) AS n",
        )
        .one().n;
      expect(rows).toBeLessThan((BATCHES * BATCH) / 2_000);
      expect(sql.exec("SELECT 1 FROM segments WHERE level = 1").toArray()).toHaveLength(1);
      for (const reader of [segments, new Segments(sql, () => days)]) {
        const found = reader.find([...eachHash(hashIds(kept.map(({ id }) => id)))]);
        expect(found.map((own, at) => own.has(kept[at]?.day ?? -1))).not.toContain(false);
        const unknown = reader.find([...eachHash(hashIds(Array.from({ length: 100 }, () => crypto.randomUUID())))]);
        expect(unknown.flatMap((own) => [...own])).toEqual([]);
      }
    });
  },
);

it("an id on several days has all of them, and segments without a day that exists are deleted", async () => {
  const stub = env.TRACE_INDEX.getByName(crypto.randomUUID());
  await runInDurableObject(stub, (_, { storage: { sql } }) => {
    sql.exec(SEGMENT_TABLES);
    const days = new Set([1, 2, 70_000]);
    const segments = new Segments(sql, () => days);
    const id = crypto.randomUUID();
    const fill = (n: number) => Array.from({ length: n }, () => crypto.randomUUID());
    for (const day of [1, 70_000]) segments.add(withDay(hashIds([id, ...fill(65_535)]), day));
    segments.add(withDay(hashIds([id]), 2));
    const find = () => [...(segments.find([...eachHash(hashIds([id]))])[0] ?? [])].sort((a, b) => a - b);
    expect(find()).toEqual([1, 2, 70_000]);
    days.delete(1);
    segments.deleteDead();
    expect(find()).toEqual([2, 70_000]);
    days.delete(70_000);
    segments.deleteDead();
    expect([find(), sql.exec("SELECT 1 FROM chunks").toArray()]).toEqual([[2], []]);
  });
});
