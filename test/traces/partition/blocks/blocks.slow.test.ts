/** Sealed blocks answer as the runs themselves would. */
import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { parseFilter } from "../../../../src/traces/filter/filter.ts";
import { hasGrams, splitGrams, GramSet } from "../../../../src/traces/partition/blocks/grams.ts";
import { SLOTS } from "../../../../src/traces/partition/store/payloads.ts";
import { queryRuns } from "../../../../src/traces/partition/read/read.ts";
import type { QueryRequest, RunSelection } from "../../../../src/traces/rpc.ts";
import type { TraceStats } from "../../../../src/traces/types.ts";
import { HOUR_MICROS } from "../../../../src/traces/time.ts";
import { evaluate, type PlainRun } from "../../../support/evaluate-filter.ts";
import { EXPRESSIONS } from "../../../support/filter-expressions.ts";
import { fillPartition, MIDNIGHT, pick } from "../../../support/random-trace-runs.ts";
import { seeded } from "../../../support/random.ts";
import { DAY, uuid7 } from "../../../support/traces.ts";

const COUNT = 1_300;
const PAGE = { order: "asc" as const, after: null, limit: 2_000, maxBytes: 1e9, payloads: [] };
/** What no run has. It is long: grams of a short text can all be those of random ids. */
const UNKNOWN = "what no run of this day has, neither in its name nor elsewhere";
const ABSENT = [
  `eq(name, "${UNKNOWN}")`,
  `has(tags, "${UNKNOWN}")`,
  `eq(thread_id, "${UNKNOWN}")`,
  `and(eq(metadata_key, "user_id"), eq(metadata_value, "${UNKNOWN}"))`,
  `and(eq(input_key, "question"), eq(input_value, "${UNKNOWN}"))`,
  `search("${UNKNOWN}")`,
];

type Filled = Awaited<ReturnType<typeof fillPartition>>;

function getStub({ identity }: Filled) {
  const name = `${identity.workspaceId}/${identity.projectId}/${DAY}`;
  return env.TRACE_PARTITION.get(env.TRACE_PARTITION.idFromName(name));
}

async function blocks(day: Filled): Promise<number[]> {
  return runInDurableObject(getStub(day), (_, { storage }) =>
    storage.sql
      .exec<{ block: number }>("SELECT block FROM blocks ORDER BY block")
      .toArray()
      .map(({ block }) => block),
  );
}

/** Seals all blocks but the last. */
async function seal(day: Filled): Promise<void> {
  await runInDurableObject(getStub(day), async (instance) =>
    (instance as unknown as { alarm(): Promise<void> }).alarm(),
  );
  const last = Math.floor(day.runs.length / 512);
  expect(await blocks(day)).toEqual(Array.from({ length: last }, (_, block) => block));
}

async function sealed(isUniform = false): Promise<Filled> {
  const day = await fillPartition(COUNT, isUniform);
  await seal(day);
  return day;
}

/** A sealed day that no test changes. */
let unchanged: Promise<Filled> | undefined;
const sealedForReading = () => (unchanged ??= sealed());

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

/** The statistics of the runs that pass a filter are those of the runs in memory. */
async function expectStats({ partition, runs }: Filled, text: string): Promise<void> {
  const filter = parseFilter(text);
  const passed = runs.filter((run) => evaluate(filter, run));
  const { latencies, first_tokens, feedback, ...sums } = await partition.stats({ filter: text });
  const expected = passed.length > 0 ? plainSums(passed) : { run_count: 0, last_run_start_time: null };
  expect({ text, ...sums }).toMatchObject({ text, ...expected });
  for (const key of ["mood", "star_rating"]) {
    const n = passed.flatMap((run) => run.feedback).filter((one) => one.key === key).length;
    expect({ text, key, n: feedback[key]?.n ?? 0 }).toEqual({ text, key, n });
  }
  const times = { end_time: latencies, first_token_time: first_tokens };
  for (const field of ["end_time", "first_token_time"] as const) {
    const ended = passed.flatMap((run) => (run[field] === null ? [] : [(run[field] - run.start_time) / 1e6]));
    const given = [...times[field]].flatMap(([micros, n]) => Array.from({ length: n }, () => micros / 1e6));
    const sortSeconds = (seconds: number[]) => seconds.toSorted((a, b) => a - b);
    // Half of a step of 5 %, where durations are in steps.
    const most = passed.length <= 2_000 ? 1e-9 : 0.0251;
    const expected = sortSeconds(ended);
    const isNear = (seconds: number, i: number) =>
      Math.abs(Math.log(Math.max(1e-6, seconds) / Math.max(1e-6, expected[i] ?? 0))) < most;
    expect({ text, field, count: given.length }).toEqual({ text, field, count: ended.length });
    expect({ text, field, near: sortSeconds(given).every(isNear) }).toEqual({ text, field, near: true });
  }
}

describe("sealed blocks", () => {
  it(`find the same runs as the plain evaluator, for generated expressions`, async () => {
    const { partition, runs } = await sealedForReading();
    for (const text of [...EXPRESSIONS, ...ABSENT]) {
      const filter = parseFilter(text);
      const expected = runs.filter((run) => evaluate(filter, run)).map(({ id }) => id);
      const found = await partition.query({ filter: text, ...PAGE });
      expect({ text, ids: found.runs.map(({ id }) => id).sort() }).toEqual({ text, ids: expected.sort() });
    }
  });

  it("give the same pages in both ways of reading", async () => {
    const day = await sealedForReading();
    const random = seeded("pages");
    const texts = [undefined, ...EXPRESSIONS, `not(has(tags, "${UNKNOWN}"))`];
    await runInDurableObject(getStub(day), (_, { storage }) => {
      // The runs that the index gives before others are read block by block.
      const page = (request: QueryRequest, newest?: number) => {
        const { runs, done } = queryRuns(storage.sql, day.identity, request, newest);
        return { request, ids: runs.map(({ id }) => id), done };
      };
      for (const filter of texts) {
        const [from, to] = [random.between(0, 3_000), random.between(40_000, 90_000)];
        const window = random.next() < 0.5 ? {} : { startTime: MIDNIGHT + from * 1e6, endTime: MIDNIGHT + to * 1e6 };
        const after = random.next() < 0.5 ? null : day.runs[random.between(0, COUNT)]!;
        for (const order of ["asc", "desc"] as const) {
          const sizes = { limit: random.between(1, 400), maxBytes: pick(random, [1e9, 20_000]) };
          const request = { ...PAGE, ...window, ...sizes, ...(filter ? { filter } : {}), order, after };
          expect(page(request, random.between(0, 400))).toEqual(page(request));
        }
      }
    });
  });

  it("are not read for what they do not have", async () => {
    const day = await sealed();
    // Runs that the grams do not know are not found: the proof that their blocks are left out.
    await runInDurableObject(getStub(day), (_, { storage }) => {
      storage.sql.exec(
        `UPDATE runs SET name = '${UNKNOWN}', tags = '["${UNKNOWN}"]', thread_id = '${UNKNOWN}' WHERE n < 1000`,
      );
      storage.sql.exec(`UPDATE runs SET metadata = '{"user_id":"${UNKNOWN}"}' WHERE n < 1000`);
      const set = SLOTS.map(
        (slot) => `inputs_${slot} = '"${UNKNOWN}"', input_pairs_${slot} = '[["question","${UNKNOWN}"]]'`,
      );
      storage.sql.exec(`UPDATE packs SET ${set.join(", ")} WHERE n < 250`);
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

  it("find the same runs for every comparison of a number, and for its opposite", async () => {
    const { partition, runs } = await sealedForReading();
    const fields = ["total_tokens", "completion_tokens", "total_cost", "execution_order", "latency"];
    const values = ["0", "1", "2", "7", "100", "1000000", "null"];
    const compared = fields.flatMap((field) =>
      values.flatMap((value) =>
        (value === "null" ? ["eq", "neq"] : ["eq", "neq", "gt", "gte", "lt", "lte"]).map(
          (comparison) => `${comparison}(${field}, ${value})`,
        ),
      ),
    );
    const texts = ["neq(end_time, null)", 'lt(end_time, "2026-11-20T06:00:00Z")', "eq(first_token_time, null)"];
    const positive = [...compared, ...texts, 'has(tags, "prod")', 'eq(status, "success")', 'neq(run_type, "llm")'];
    const nested = ['not(and(gt(latency, 1), has(tags, "prod")))', 'not(or(gt(latency, 1), not(has(tags, "prod"))))'];
    const all = [...positive, ...positive.map((one) => `not(${one})`)];
    for (const text of [...all, ...nested]) {
      const filter = parseFilter(text);
      const expected = runs.filter((run) => evaluate(filter, run)).length;
      expect({ text, found: (await partition.query({ filter: text, ...PAGE })).runs.length }).toEqual({
        text,
        found: expected,
      });
    }
  });

  it("are not read when all their values are outside, or all their runs have the tag that none may have", async () => {
    const day = await fillPartition(COUNT);
    await runInDurableObject(getStub(day), (_, { storage }) => {
      storage.sql.exec(
        `UPDATE runs SET tags = '["a","every"]', total_tokens = n, end_time = start_time, total_cost = NULL`,
      );
      storage.sql.exec(`UPDATE runs SET status = 'success', run_type = 'llm'`);
    });
    await seal(day);
    await runInDurableObject(getStub(day), (_, { storage }) => {
      // Runs that the bounds do not know are not found.
      storage.sql.exec(
        `UPDATE runs SET tags = '[]', total_tokens = 1000000, total_cost = 5, status = 'error' WHERE n < 1000`,
      );
      storage.sql.exec(`UPDATE runs SET end_time = start_time + 60000000, run_type = 'tool' WHERE n < 1000`);
    });
    const countInLast = async (filter: string) => (await day.partition.query({ filter, ...PAGE })).runs.length;
    const absent = [
      'not(has(tags, "every"))',
      "gt(total_tokens, 500000)",
      "neq(total_cost, null)",
      'gt(latency, "30s")',
      'not(lte(latency, "30s"))',
      'neq(status, "success")',
      'not(eq(run_type, "llm"))',
      'not(or(has(tags, "every"), eq(name, "x")))',
    ];
    for (const filter of absent) expect({ filter, runs: await countInLast(filter) }).toEqual({ filter, runs: 0 });
    expect(await countInLast('not(has(tags, "other"))')).toBe(COUNT);
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

  it("take no new runs after deletions", async () => {
    const day = await sealed();
    const numbers = await runInDurableObject(getStub(day), (_, { storage }) =>
      storage.sql.exec<{ trace_id: string; n: number }>("SELECT trace_id, n FROM runs ORDER BY n").toArray(),
    );
    const traces = (from: number, to: number) =>
      numbers.filter(({ n }) => n >= from && n < to).map(({ trace_id }) => trace_id);
    await day.partition.deleteTraces(traces(0, 512));
    await seal(day);
    await day.partition.deleteTraces(traces(512, Infinity));
    // Block 0 is still sealed, without runs.
    expect(await blocks(day)).toEqual([0]);
    const id = uuid7(MIDNIGHT);
    await day.partition.upsert(day.identity, [{ kind: "post", id, trace_id: id, name: "no such step" }]);
    const found = await day.partition.query({ filter: 'eq(name, "no such step")', ...PAGE });
    expect(found.runs.map((run) => run.id)).toEqual([id]);
    expect((await day.partition.stats({})).run_count).toBe(1);
    const { n } = await runInDurableObject(getStub(day), (_, { storage }) =>
      storage.sql.exec<{ n: number }>("SELECT n FROM runs").one(),
    );
    expect(n).toBe((numbers.at(-1)?.n ?? 0) + 1);
  });

  it("add up to the same sums, for selections by column and by time", async () => {
    const { partition, runs } = await sealed(true);
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
    }
  });

  it("add up to the same statistics for filters that sums do not answer", async () => {
    const day = await fillPartition(COUNT * 2, true);
    // More runs than the sample has, about half of them, and none.
    const texts = ['not(has(tags, "absent"))', 'has(tags, "beta")', "gt(total_tokens, 100)", 'has(tags, "absent")'];
    for (const text of texts) await expectStats(day, text);
    await seal(day);
    for (const text of texts) await expectStats(day, text);
  });

  it("give the statistics of one run that is in an open block", async () => {
    const day = await sealed();
    const run = day.runs.slice(0, 512).find(({ feedback }) => feedback.length > 0)!;
    await day.partition.upsert(day.identity, [{ kind: "patch", id: run.id, tags: ["absent"] }]);
    const { run_count, feedback } = await day.partition.stats({ filter: 'has(tags, "absent")' });
    expect(run_count).toBe(1);
    expect(Object.keys(feedback).sort()).toEqual(run.feedback.map(({ key }) => key).sort());
  });

  it("give the same series as their runs do, by time and by column", async () => {
    const day = await fillPartition(COUNT, true);
    const selections: RunSelection[] = [
      {},
      { isRoot: true, filter: 'neq(name, "step")' },
      { startTime: MIDNIGHT + 5e9, endTime: MIDNIGHT + 70e9 },
    ];
    const requests = [
      ...(["name", "run_type", "status", "model", "tag", undefined] as const).map((by) => ({
        interval: HOUR_MICROS,
        by,
      })),
      { interval: 24 * HOUR_MICROS, by: "name" as const },
      { interval: 60_000_000, by: "name" as const },
    ];
    const series = async () =>
      Promise.all(
        selections.flatMap((selection) =>
          requests.map(async (request) => {
            const { times, keys } = await day.partition.series(selection, request);
            const roundFigures = (figures: TraceStats[]) =>
              figures
                .map((one) => ({ ...one, total_cost: Math.round(one.total_cost * 1e6) }))
                .sort((a, b) => (String(a.key) < String(b.key) ? -1 : 1));
            return { selection, request, times: roundFigures(times), keys: roundFigures(keys) };
          }),
        ),
      );
    const before = await series();
    await seal(day);
    expect(await series()).toEqual(before);
    // Sums of blocks that are no longer true of their runs: the proof that they are used.
    await runInDurableObject(
      getStub(day),
      (_, { storage }) => void storage.sql.exec("UPDATE runs SET total_tokens = 0"),
    );
    const [first] = await series();
    expect(first!.times.reduce((sum, { total_tokens }) => sum + total_tokens, 0)).toBeGreaterThan(0);
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
      for (const [slice, bits] of splitGrams(part.toUpperCase().normalize())) {
        if (/[^\0-\x7f]/.test(part)) continue;
        expect(hasGrams(set.slice(slice), bits)).toBe(true);
      }
      for (const [slice, bits] of splitGrams(part)) expect(hasGrams(set.slice(slice), bits)).toBe(true);
    }
  });
});
