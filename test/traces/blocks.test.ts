/** Sealed blocks answer as the runs themselves would. */
import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { parseFilter } from "../../src/traces/filter/filter.ts";
import { hasGrams, gramsOf, GramSet } from "../../src/traces/partition/blocks/grams.ts";
import { durationsOf } from "../../src/traces/partition/rollups/groups.ts";
import type { RunSelection } from "../../src/traces/rpc.ts";
import { HOUR_MICROS } from "../../src/traces/time.ts";
import { evaluate, type PlainRun } from "../support/evaluate-filter.ts";
import { EXPRESSIONS } from "../support/filter-expressions.ts";
import { filled, MIDNIGHT } from "../support/random-trace-runs.ts";
import { seeded } from "../support/random.ts";
import { DAY } from "../support/traces.ts";

const COUNT = 1_300;
const PAGE = { order: "asc" as const, after: null, limit: 2_000, maxBytes: 1e9, payloads: [] };
const ABSENT = [
  'eq(name, "no such step")',
  'has(tags, "absent")',
  'eq(thread_id, "t-3")',
  'and(eq(metadata_key, "user_id"), eq(metadata_value, "nobody"))',
  'and(eq(input_key, "question"), eq(input_value, "who said this?"))',
  'search("nowhere to be found")',
];

type Filled = Awaited<ReturnType<typeof filled>>;

function stubOf({ identity }: Filled) {
  const name = `${identity.workspaceId}/${identity.projectId}/${DAY}`;
  return env.TRACE_PARTITION.get(env.TRACE_PARTITION.idFromName(name));
}

async function blocks(day: Filled): Promise<number[]> {
  return runInDurableObject(stubOf(day), (_, { storage }) =>
    storage.sql
      .exec<{ block: number }>("SELECT block FROM blocks ORDER BY block")
      .toArray()
      .map(({ block }) => block),
  );
}

async function sealed(): Promise<Filled> {
  const day = await filled(COUNT);
  await runInDurableObject(stubOf(day), async (instance) =>
    (instance as unknown as { alarm(): Promise<void> }).alarm(),
  );
  expect(await blocks(day)).toEqual([0, 1]);
  return day;
}

/** What the runs of a day add up to, without the partition. */
function plainSums(runs: PlainRun[]) {
  const sum = (value: (run: PlainRun) => number | null) => runs.reduce((total, run) => total + (value(run) ?? 0), 0);
  return {
    run_count: runs.length,
    error_count: sum(({ error }) => Number(error !== null)),
    streaming_count: sum(({ first_token_time }) => Number(first_token_time !== null)),
    total_tokens: sum(({ total_tokens }) => total_tokens),
    prompt_tokens: sum(({ prompt_tokens }) => prompt_tokens),
    total_cost: expect.closeTo(
      sum(({ total_cost }) => total_cost),
      6,
    ) as number,
    last_run_start_time: Math.max(...runs.map(({ start_time }) => start_time)),
  };
}

describe("sealed blocks", () => {
  it(`find the same runs as the plain evaluator, for ${EXPRESSIONS.length} expressions`, async () => {
    const { partition, runs } = await sealed();
    for (const text of [...EXPRESSIONS, ...ABSENT]) {
      const filter = parseFilter(text);
      const expected = runs.filter((run) => evaluate(filter, run)).map(({ id }) => id);
      const found = await partition.query({ filter: text, ...PAGE });
      expect({ text, ids: found.runs.map(({ id }) => id).sort() }).toEqual({ text, ids: expected.sort() });
    }
  });

  it("are not read for what they do not have", async () => {
    const day = await sealed();
    // Runs that the grams do not know are not found: the proof that their blocks are left out.
    await runInDurableObject(stubOf(day), (_, { storage }) => {
      storage.sql.exec(`UPDATE runs SET name = 'no such step', tags = '["absent"]', thread_id = 't-3' WHERE n < 1000`);
      storage.sql.exec(`UPDATE runs SET metadata = '{"user_id":"nobody"}' WHERE n < 1000`);
      storage.sql.exec(
        `UPDATE payloads SET inputs = '"nowhere to be found"', input_pairs = '[["question","who said this?"]]' WHERE n < 1000`,
      );
    });
    for (const filter of ABSENT) {
      expect({ filter, runs: (await day.partition.query({ filter, ...PAGE })).runs.length }).toEqual({
        filter,
        runs: 0,
      });
      const tree = await day.partition.query({ treeFilter: filter, ...PAGE });
      expect({ filter, tree: tree.runs.length }).toEqual({ filter, tree: 0 });
    }
  });

  it("are opened by a change to one of their runs", async () => {
    const day = await sealed();
    const [run] = day.runs;
    await day.partition.upsert(day.identity, [
      {
        kind: "patch",
        id: run!.id,
        tags: ["absent"],
        usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 1_000_000 },
      },
    ]);
    expect(await blocks(day)).toEqual([1]);
    const found = await day.partition.query({ filter: 'has(tags, "absent")', ...PAGE });
    expect(found.runs.map(({ id }) => id)).toEqual([run!.id]);
    expect((await day.partition.stats({})).total_tokens).toBeGreaterThan(1_000_000);
  });

  it("add up to the same sums, for selections by column and by time", async () => {
    const { partition, runs } = await sealed();
    const selections: [RunSelection, (run: PlainRun) => boolean][] = [
      [{}, () => true],
      [{ isRoot: true }, (run) => run.is_root],
      [{ hasError: true }, (run) => run.error !== null],
      [{ runType: "llm" }, (run) => run.run_type === "llm"],
      [
        { filter: 'and(eq(name, "step"), neq(status, "error"))' },
        (run) => run.name === "step" && run.status !== "error",
      ],
      [{ filter: "neq(error, null)" }, (run) => run.error !== null],
      [{ startTime: MIDNIGHT + 3 * HOUR_MICROS }, (run) => run.start_time >= MIDNIGHT + 3 * HOUR_MICROS],
      [
        { startTime: MIDNIGHT + 5e9, endTime: MIDNIGHT + 70e9 },
        (run) => run.start_time >= MIDNIGHT + 5e9 && run.start_time < MIDNIGHT + 70e9,
      ],
      [
        { startTime: MIDNIGHT + 5e9, endTime: MIDNIGHT + 6e9 },
        (run) => run.start_time >= MIDNIGHT + 5e9 && run.start_time < MIDNIGHT + 6e9,
      ],
      [{ filter: 'has(tags, "beta")' }, (run) => run.tags.includes("beta")],
    ];
    for (const [selection, test] of selections) {
      const expected = plainSums(runs.filter(test));
      expect({ selection, ...(await partition.stats(selection)) }).toMatchObject({ selection, ...expected });
      const [whole] = await partition.sums(selection, {});
      expect({ selection, ...whole }).toMatchObject({ selection, ...expected });
    }
  });

  it("add up by hour and by column", async () => {
    const { partition, runs } = await sealed();
    const groups = await partition.sums({}, { hour: true, column: "run_type" });
    const hourOf = (run: PlainRun) => run.start_time - (run.start_time % HOUR_MICROS);
    expect(groups.length).toBeGreaterThan(90);
    expect(groups.reduce((sum, { run_count }) => sum + run_count, 0)).toBe(COUNT);
    for (const { hour, key, ...sums } of groups) {
      const own = runs.filter((run) => hourOf(run) === hour && run.run_type === key);
      expect(sums).toMatchObject(plainSums(own));
      const latencies = own.flatMap((run) => (run.end_time === null ? [] : [(run.end_time - run.start_time) / 1e6]));
      const known = durationsOf(sums.latencies, 1_000);
      expect(known).toHaveLength(latencies.length);
      latencies
        .sort((a, b) => a - b)
        .forEach((latency, i) => expect(known[i]! / (latency || 1)).toBeCloseTo(latency && 1, 1));
    }
  });
});

describe("grams", () => {
  it("have every part of every text that was added", () => {
    const random = seeded("grams");
    const letters = Array.from('abcdeABCDE {}":,\\é水🌊0123');
    const text = (length: number) => Array.from({ length }, () => letters[random.between(0, letters.length)]).join("");
    const set = new GramSet();
    const texts = Array.from({ length: 50 }, () => text(random.between(0, 400)));
    for (const one of texts) set.add(one);
    for (const one of texts) {
      const part = one.slice(random.between(0, 100), random.between(100, 400));
      for (const [slice, bits] of gramsOf(part.toUpperCase().normalize())) {
        if (/[^\0-\x7f]/.test(part)) continue;
        expect(hasGrams(set.slice(slice), bits)).toBe(true);
      }
      for (const [slice, bits] of gramsOf(part)) expect(hasGrams(set.slice(slice), bits)).toBe(true);
    }
  });
});
