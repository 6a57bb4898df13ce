/** Payloads of runs, in packs and in rows of their own. */
import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { parseFilter } from "../../../../src/traces/filter/filter.ts";
import { SLOTS, slotColumn } from "../../../../src/traces/partition/store/payloads.ts";
import { PACKED_COLUMNS, PAYLOAD_COLUMNS } from "../../../../src/traces/partition/store/tables.ts";
import { tracePartition } from "../../../../src/traces/stub.ts";
import { PAYLOAD_FIELDS, type PartitionIdentity, type RunWrite } from "../../../../src/traces/types.ts";
import { evaluate } from "../../../support/evaluate-filter.ts";
import { EXPRESSIONS } from "../../../support/filter-expressions.ts";
import { fillPartition } from "../../../support/random-trace-runs.ts";
import { seeded } from "../../../support/random.ts";
import { DAY, makeProject, NOON, uuid7 } from "../../../support/traces.ts";

const READ = { order: "asc" as const, after: null, limit: 10_000, maxBytes: 1e9, payloads: [...PAYLOAD_FIELDS] };
const SLOT_COLUMNS = SLOTS.flatMap((slot) => PACKED_COLUMNS.map((column) => slotColumn(column, slot)));

function openPartition(identity: PartitionIdentity) {
  const { workspaceId, projectId } = identity;
  const object = env.TRACE_PARTITION.getByName(`${workspaceId}/${projectId}/${DAY}`);
  const sql = <T extends Record<string, SqlStorageValue>>(text: string) =>
    runInDurableObject(object, (_, { storage }) => storage.sql.exec<T>(text).toArray());
  const bytes = () => runInDurableObject(object, (_, { storage }) => storage.sql.databaseSize);
  return { identity, partition: tracePartition(env, workspaceId, identity), sql, bytes };
}

async function newPartition() {
  const identity = {
    workspaceId: crypto.randomUUID(),
    projectId: crypto.randomUUID(),
    day: DAY,
    shard: 0,
    traceTier: "longlived" as const,
  };
  await makeProject(identity);
  return openPartition(identity);
}
type Opened = ReturnType<typeof openPartition>;

let made = 0;
function post(more: Partial<RunWrite> = {}): RunWrite {
  const id = uuid7(NOON, (made++).toString(16).padStart(12, "0"));
  return { kind: "post", id, trace_id: id, is_root: true, start_time: NOON + made, ...more };
}

const text = (value: string) => ({ text: JSON.stringify(value) });

/** The payloads of all runs by id. */
async function payloads({ partition }: Opened) {
  const { runs } = await partition.query(READ);
  return new Map(runs.map(({ id, inputs, outputs, extra, events }) => [id, { inputs, outputs, extra, events }]));
}

/** Moves the payloads of some runs from packs to rows of their own, as large ones have. */
async function moveOut({ sql }: Opened, where: string): Promise<void> {
  for (const slot of SLOTS) {
    const columns = PACKED_COLUMNS.map((column) => slotColumn(column, slot));
    await sql(
      `INSERT INTO payloads (n, ${PACKED_COLUMNS.join()}) SELECT r.n, ${columns.join()} FROM runs r JOIN packs ON packs.n = r.n >> 2
       WHERE r.n & 3 = ${slot} AND ${where}`,
    );
    await sql(
      `UPDATE packs SET ${columns.map((column) => `${column} = NULL`).join()} WHERE EXISTS (
         SELECT 1 FROM runs r WHERE r.n = packs.n * 4 + ${slot} AND ${where})`,
    );
  }
  const isEmpty = SLOT_COLUMNS.map((column) => `${column} IS NULL`).join(" AND ");
  await sql(`DELETE FROM packs WHERE ${isEmpty}`);
}

/** Each run has its payloads in one place, and no place has payloads of no run. */
async function expectTidy({ sql }: Opened): Promise<void> {
  for (const slot of SLOTS) {
    const filledSlot = PACKED_COLUMNS.map((column) => `${slotColumn(column, slot)} IS NOT NULL`).join(" OR ");
    const stray = await sql(
      `SELECT n FROM packs WHERE (${filledSlot}) AND (
         NOT EXISTS (SELECT 1 FROM runs r WHERE r.n = packs.n * 4 + ${slot})
         OR EXISTS (SELECT 1 FROM payloads p WHERE p.n = packs.n * 4 + ${slot}))`,
    );
    expect(stray).toEqual([]);
  }
  expect(await sql("SELECT n FROM payloads WHERE n NOT IN (SELECT n FROM runs)")).toEqual([]);
  expect(await sql("SELECT n FROM packs WHERE n NOT IN (SELECT n >> 2 FROM runs)")).toEqual([]);
}

describe("packs", () => {
  it("have the payload columns of each of their runs", async () => {
    const day = await newPartition();
    await day.partition.upsert(day.identity, [post()]);
    const columns = async (table: string) =>
      (await day.sql<{ name: string }>(`SELECT name FROM pragma_table_info('${table}')`)).map(({ name }) => name);
    expect(await columns("payloads")).toEqual(["n", ...PAYLOAD_COLUMNS]);
    expect(await columns("packs")).toEqual(["n", ...SLOT_COLUMNS]);
  });

  it("store a run in little more than the bytes of its payloads", async () => {
    const day = await newPartition();
    const run = () => post({ inputs: text("i".repeat(1_000)), outputs: text("o".repeat(1_260)) });
    await day.partition.upsert(day.identity, [run()]);
    const before = await day.bytes();
    for (let batch = 0; batch < 10; batch++)
      await day.partition.upsert(
        day.identity,
        Array.from({ length: 100 }, () => run()),
      );
    // A page for each run would be 4,096 bytes without the rest of the run.
    expect(((await day.bytes()) - before) / 1_000).toBeLessThan(3_300);
  });

  it("are as few as the runs of a write can share", async () => {
    const day = await newPartition();
    const send = async (runs: number) =>
      day.partition.upsert(
        day.identity,
        Array.from({ length: runs }, () => post({ inputs: text("small") })),
      );
    const packs = async () => (await day.sql<{ n: number }>("SELECT n FROM packs ORDER BY n")).map(({ n }) => n);
    // 1 to 2, then 4 to 7: from 3 on they would take two.
    await send(2);
    await send(4);
    expect(await packs()).toEqual([0, 1]);
    // 8 to 9, then 10 to 11 in the same pack.
    await send(2);
    await send(2);
    expect(await packs()).toEqual([0, 1, 2]);
    expect((await day.sql("SELECT n FROM runs ORDER BY n")).map(({ n }) => n)).toEqual([
      1, 2, 4, 5, 6, 7, 8, 9, 10, 11,
    ]);
    await expectTidy(day);
  });

  it("leave large payloads, and those with objects in R2, to rows of their own", async () => {
    const day = await newPartition();
    const attachments = [{ name: "a", type: "text/plain", bytes: 1 }];
    const inR2 = { preview: '"…"', hash: "h", bytes: 300_000 };
    const writes = [
      post({ inputs: text("small") }),
      post({ inputs: text("x".repeat(9_000)) }),
      post({ inputs: text("small"), attachments }),
      post({ inputs: inR2, outputs: text("small") }),
    ];
    await day.partition.upsert(day.identity, writes);
    expect(await day.sql("SELECT n FROM payloads ORDER BY n")).toEqual([{ n: 5 }, { n: 6 }, { n: 7 }]);
    expect(await day.sql("SELECT n FROM packs")).toEqual([{ n: 1 }]);
    const { runs } = await day.partition.query(READ);
    expect(runs.map(({ inputs }) => inputs?.length ?? null)).toEqual([7, 9_002, 7, null]);
    expect(runs.map((run) => run.attachments?.length)).toEqual([0, 0, 1, 0]);
    expect(runs[3]?.large).toEqual({ inputs: { hash: "h", bytes: 300_000 } });
    await expectTidy(day);
  });

  it("hold what a model holds, for random posts, patches and deletions", async () => {
    const random = seeded("packs");
    const day = await newPartition();
    const model = new Map<string, Record<"inputs" | "outputs" | "events", string | null>>();
    const pickText = () => text("x".repeat(random.next() < 0.2 ? 9_000 : random.between(0, 3_000)));
    for (let step = 0; step < 60; step++) {
      const ids = [...model.keys()];
      if (random.next() < 0.2 && ids.length > 0) {
        const gone = Array.from({ length: random.between(1, 8) }, () => ids[random.between(0, ids.length)]!);
        await day.partition.deleteTraces(gone);
        for (const id of gone) model.delete(id);
      } else {
        const writes = Array.from({ length: random.between(1, 12) }, () => {
          const id = random.next() < 0.4 ? ids[random.between(0, ids.length)] : undefined;
          const write = { ...post(), ...(id !== undefined && { id, kind: "patch" as const, trace_id: id }) };
          for (const field of ["inputs", "outputs", "events"] as const) {
            if (random.next() < 0.6) continue;
            write[field] = pickText();
          }
          const before = model.get(write.id) ?? { inputs: null, outputs: null, events: null };
          const readField = (field: "inputs" | "outputs" | "events") =>
            (write[field] as { text: string } | undefined)?.text;
          model.set(write.id, {
            inputs: readField("inputs") ?? before.inputs,
            outputs: readField("outputs") ?? before.outputs,
            events: readField("events") ?? before.events,
          });
          return write;
        });
        await day.partition.upsert(day.identity, writes);
      }
      await expectTidy(day);
    }
    const stored = await payloads(day);
    expect(stored.size).toBe(model.size);
    for (const [id, expected] of model) expect({ id, ...stored.get(id) }).toMatchObject({ id, ...expected });
  });
});

it("payloads in rows of their own pass the same filters as those in packs", async () => {
  const { runs, identity, partition } = await fillPartition(400);
  await moveOut(openPartition(identity), "r.n % 3 = 0");
  for (const expression of EXPRESSIONS) {
    const filter = parseFilter(expression);
    const expected = runs.filter((run) => evaluate(filter, run)).map(({ id }) => id);
    const found = await partition.query({ ...READ, filter: expression, payloads: [] });
    expect({ expression, ids: found.runs.map(({ id }) => id).sort() }).toEqual({ expression, ids: expected.sort() });
  }
});
