/** Experiments compared: what counts as better, over repetitions, deleted examples, and outputs of any size. */
import { beforeAll, describe, expect, it } from "vitest";
import { compareRuns, type ComparedRun } from "../../../../src/traces/review/experiments/compare.ts";
import { type Caller, newCaller } from "../../../support/caller.ts";
import { ask, newDataset } from "../../../support/examples.ts";
import { NOON, runParts, sendMultipart, sentRun } from "../../../support/traces.ts";

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

interface Comparison {
  total: number;
  experiments: { id: string; run_count: number; improved: object; regressed: object; scores: object }[];
  rows: {
    example_id: string;
    example: { inputs: object } | null;
    results: { runs: { outputs: object }[]; scores: object; improved: string[]; regressed: string[] }[];
  }[];
}

const compare = async (dataset: string, ids: string[], query = "") =>
  ask<Comparison>(caller, `/datasets/${dataset}/compare?${ids.map((id) => `experiment=${id}`).join("&")}${query}`);

let clock = NOON;

/** An experiment with one run for each list of scores of an example. */
async function experiment(dataset: string, runs: [example: string, scores: object, outputs?: object][]) {
  const body = { name: crypto.randomUUID(), reference_dataset_id: dataset };
  const { id, name } = await ask<{ id: string; name: string }>(caller, "/sessions", { body });
  for (const [reference_example_id, scores, outputs = {}] of runs) {
    const times = { end_time: "2026-11-20T16:49:55Z" };
    const run = sentRun((clock += 1_000_000), { session_name: name, reference_example_id, outputs, ...times });
    // A child refers to no example.
    const child = sentRun(clock + 1_000, { session_name: name, ...times }, run);
    const feedback = Object.entries(scores).map(([key, score]) => {
      const feedbackId = crypto.randomUUID();
      return { name: `feedback.${feedbackId}`, data: JSON.stringify({ run_id: run.id, key, score }) };
    });
    const answer = await sendMultipart(caller, [...runParts("post", run), ...runParts("post", child), ...feedback]);
    expect(await answer.json()).toMatchObject({ rejected: 0 });
  }
  return id;
}

async function createExamples(dataset: string, count: number): Promise<string[]> {
  const body = Array.from({ length: count }, (_, n) => ({ dataset_id: dataset, inputs: { n } }));
  return (await ask<{ id: string }[]>(caller, "/examples/bulk", { body })).map(({ id }) => id);
}

describe("a comparison", () => {
  it("takes the mean of repetitions and respects keys whose lower scores are better", async () => {
    const dataset = await newDataset(caller);
    const [one = "", two = ""] = await createExamples(dataset, 2);
    const config = { feedback_key: "toxic", feedback_config: { type: "continuous" }, is_lower_score_better: true };
    await ask(caller, "/feedback-configs", { body: config });
    const base = await experiment(dataset, [
      [one, { correct: 1, toxic: 0.5 }],
      [one, { correct: 0, toxic: 0.5 }],
      [two, { correct: 1 }],
    ]);
    const next = await experiment(dataset, [
      [one, { correct: 0.75, toxic: 0.75 }],
      [two, { correct: 1, other: 1 }],
    ]);
    const { rows, experiments, total } = await compare(dataset, [base, next]);
    expect(total).toBe(2);
    const result = (example: string) => rows.find(({ example_id }) => example_id === example)?.results;
    expect(result(one)).toMatchObject([
      { scores: { correct: 0.5, toxic: 0.5 }, runs: [{}, {}] },
      { improved: ["correct"], regressed: ["toxic"], runs: [{}] },
    ]);
    expect(result(two)?.[1]).toMatchObject({ scores: { correct: 1, other: 1 }, improved: [], regressed: [] });
    expect(experiments).toMatchObject([
      { id: base, run_count: 3, scores: { correct: 2 / 3 }, improved: {}, regressed: {} },
      { id: next, run_count: 2, improved: { correct: 1 }, regressed: { toxic: 1 } },
    ]);
    const listChanged = async (query: string) =>
      (await compare(dataset, [base, next], query)).rows.map((row) => row.example_id);
    expect(await listChanged("&change=regressed")).toEqual([one]);
    expect(await listChanged("&change=regressed&key=correct")).toEqual([]);
    expect(await listChanged("&change=improved&key=correct")).toEqual([one]);
  });

  it("has pages, outputs of any size, and examples that were deleted", async () => {
    const dataset = await newDataset(caller);
    const ids = await createExamples(dataset, 5);
    const [large = "", gone = ""] = ids;
    const outputs = { text: "x".repeat(300_000) };
    const only = await experiment(dataset, [
      [large, {}, outputs],
      [gone, {}],
    ]);
    await ask(caller, `/examples/${large}`, { method: "PATCH", body: { inputs: { big: "y".repeat(50_000) } } });
    await ask(caller, `/examples/${gone}`, { method: "DELETE" });
    const all = await compare(dataset, [only]);
    expect(all.rows.map(({ example_id }) => example_id).toSorted()).toEqual(ids.toSorted());
    const row = (id: string) => all.rows.find(({ example_id }) => example_id === id);
    expect(row(large)).toMatchObject({
      example: { inputs: { big: "y".repeat(50_000) } },
      results: [{ runs: [{ outputs }] }],
    });
    expect(row(gone)).toMatchObject({ example: null, results: [{ runs: [{}] }] });
    const pages = [await compare(dataset, [only], "&limit=3"), await compare(dataset, [only], "&limit=3&offset=3")];
    expect(pages.map(({ rows }) => rows.length)).toEqual([3, 2]);
    expect(pages.flatMap(({ rows }) => rows.map((one) => one.example_id))).toEqual(
      all.rows.map((one) => one.example_id),
    );
  });

  it.each([
    ["no experiment", () => "", 422],
    ["an experiment that is not there", () => `experiment=${crypto.randomUUID()}`, 404],
    ["an id that is none", () => "experiment=x", 422],
    ["too many", () => Array.from({ length: 6 }, () => `experiment=${crypto.randomUUID()}`).join("&"), 422],
  ])("of %s is refused", async (_, query, status) => {
    const dataset = await newDataset(caller);
    expect((await caller.fetch(`/datasets/${dataset}/compare?${query()}`)).status).toBe(status);
  });

  it("of an experiment on another dataset, or of another workspace, is refused", async () => {
    const [dataset, other] = [await newDataset(caller), await newDataset(caller)];
    const foreign = await experiment(other, []);
    expect((await caller.fetch(`/datasets/${dataset}/compare?experiment=${foreign}`)).status).toBe(404);
    const stranger = await newCaller();
    expect((await stranger.fetch(`/datasets/${other}/compare?experiment=${foreign}`)).status).toBe(404);
  });
});

it("lists regressions first, then improvements, on request", async () => {
  const dataset = await newDataset(caller);
  const ids: string[] = [];
  for (const at of [1, 2, 3, 4]) {
    const body = { dataset_id: dataset, inputs: { at }, created_at: `2026-11-20T10:00:0${at}Z` };
    ids.unshift((await ask<{ id: string }>(caller, "/examples", { body })).id);
  }
  const [same = "", better = "", worse = "", alike = ""] = ids;
  const runs = (scores: number[]) => ids.map((id, i): [string, object] => [id, { correct: scores[i] }]);
  const base = await experiment(dataset, runs([1, 0, 1, 0]));
  const next = await experiment(dataset, runs([1, 1, 0, 0]));
  const order = async (query: string) =>
    (await compare(dataset, [base, next], query)).rows.map(({ example_id }) => example_id);
  expect(await order("")).toEqual([same, better, worse, alike]);
  expect(await order("&sort=change")).toEqual([worse, better, same, alike]);
  expect(await order("&sort=change&limit=1&offset=1")).toEqual([better]);
});

it("a new failure is a regression, and a difference of rounding is no change", () => {
  const run = (exampleId: string, failed: boolean, score: number): ComparedRun => ({
    id: crypto.randomUUID(),
    exampleId,
    startTime: 0,
    failed,
    latency: 1,
    tokens: 0,
    cost: 0,
    scores: { a: score },
  });
  const [row] = compareRuns(["e"], [[run("e", false, 0.3333)], [run("e", true, 0.33333)]], new Set());
  expect(row?.results[1]).toMatchObject({ newlyFailed: true, improved: [], regressed: [] });
  const [missing] = compareRuns(["e"], [[], [run("e", true, 1)]], new Set());
  expect(missing?.results[1]).toMatchObject({ newlyFailed: false, improved: [] });
});
