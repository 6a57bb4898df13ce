/** Examples with the runs of experiments on them, in both generations. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, newCaller } from "../../../support/caller.ts";
import { ask, newDataset } from "../../../support/examples.ts";
import { NOON, runParts, sendMultipart, sentRun } from "../../../support/traces.ts";

interface Row {
  id: string;
  inputs: { n: number };
  metadata: object;
  runs: { id: string; session_id?: string; inputs?: object; outputs?: { text: string }; inputs_preview?: string }[];
}
interface Page {
  items: Row[];
  next_cursor: string | null;
}

let caller: Caller;
let dataset: string;
let ids: string[];
/** Two experiments; the first one has a repetition of the first example, and the second one no run of the last. */
let first: string;
let second: string;

const LARGE = "文".repeat(100_000);
let clock = NOON;

async function experiment(runs: [example: string, score: number, outputs?: object][]): Promise<string> {
  const made = { name: crypto.randomUUID(), reference_dataset_id: dataset };
  const { id, name } = await ask<{ id: string; name: string }>(caller, "/sessions", { body: made });
  for (const [reference_example_id, score, outputs = { text: "short" }] of runs) {
    const more = { session_name: name, reference_example_id, inputs: { q: 1 }, outputs, tags: [`s${score}`] };
    const run = sentRun((clock += 1_000_000), { ...more, end_time: "2026-11-20T16:49:55Z" });
    const child = sentRun(clock + 1_000, { session_name: name, end_time: "2026-11-20T16:49:55Z" }, run);
    const feedback = {
      name: `feedback.${crypto.randomUUID()}`,
      data: JSON.stringify({ run_id: run.id, key: "k", score }),
    };
    const answer = await sendMultipart(caller, [...runParts("post", run), ...runParts("post", child), feedback]);
    expect(await answer.json()).toMatchObject({ rejected: 0 });
  }
  return id;
}

beforeAll(async () => {
  caller = await newCaller();
  dataset = await newDataset(caller);
  const body = [0, 1, 2].map((n) => ({
    dataset_id: dataset,
    inputs: { n },
    created_at: `2026-01-0${9 - n}T00:00:00Z`,
  }));
  ids = (await ask<{ id: string }[]>(caller, "/examples/bulk", { body })).map(({ id }) => id);
  const [a = "", b = "", c = ""] = ids;
  first = await experiment([
    [a, 0],
    [a, 1, { text: LARGE }],
    [b, 0.9],
    [c, 0.1],
  ]);
  second = await experiment([
    [b, 1],
    [a, 0],
  ]);
});

const v1 = async (body: object) => ask<Row[]>(caller, `/datasets/${dataset}/runs`, { body });
const v2 = async (body: object) => ask<Page>(caller, `/api/v2/datasets/${dataset}/experiment-runs`, { body });
const refusal = async (path: string, body: object) => {
  const answer = await caller.fetch(path, { body });
  return [answer.status, (await answer.json<{ detail: string }>()).detail];
};

describe("the first generation", () => {
  it("has each example once with its runs, by experiment", async () => {
    const rows = await v1({ session_ids: [second, first] });
    expect(rows.map(({ id }) => id)).toEqual(ids);
    expect(rows.map(({ runs }) => runs.map(({ session_id }) => session_id))).toEqual([
      [second, first, first],
      [second, first],
      [first],
    ]);
    expect(rows[0]?.inputs).toEqual({ n: 0 });
    expect(rows[0]?.runs[2]?.outputs?.text).toBe(LARGE);
    expect(rows[0]?.runs[2]).toMatchObject({ reference_example_id: ids[0], feedback_stats: { k: { n: 1, avg: 1 } } });
  });

  it("pages by offset, and shows beginnings for a preview", async () => {
    expect((await v1({ session_ids: [first], offset: 1, limit: 1 })).map(({ id }) => id)).toEqual([ids[1]]);
    expect(await v1({ session_ids: [first], offset: 3 })).toEqual([]);
    const [row] = await v1({ session_ids: [first], limit: 1, preview: true });
    expect(row?.runs[1]?.outputs).toBeUndefined();
    expect(row?.runs[1]).toMatchObject({
      inputs_preview: expect.stringContaining("1"),
      outputs_preview: expect.any(String),
    });
    expect(JSON.stringify(row)).not.toContain(LARGE);
  });
});

describe("the second generation", () => {
  it("shows what is selected, page by page without repetitions", async () => {
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Page = await v2({ experiment_ids: [first], page_size: 1, ...(cursor && { cursor }) });
      expect(page.items).toHaveLength(1);
      expect(Object.keys(page.items[0]?.runs[0] ?? {})).toEqual(["id"]);
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.next_cursor;
      // A new example comes before those that follow.
      await ask(caller, "/examples", { body: { dataset_id: await newDataset(caller), inputs: {} } });
    } while (cursor);
    expect(seen).toEqual(ids);
    const { items } = await v2({ experiment_ids: [first], selects: ["OUTPUTS", "NAME"], page_size: 1 });
    expect(items[0]?.runs[1]).toMatchObject({ name: expect.any(String), outputs: { text: LARGE } });
  });

  it("leaves the examples with a run that matches every filter", async () => {
    const filters = { [first]: ['has(tags, "s1")'] };
    const { items } = await v2({ experiment_ids: [first, second], filters });
    expect(items.map(({ id, runs }) => [id, runs.length])).toEqual([[ids[0], 2]]);
    const both = { [first]: ["gt(feedback_score, 0.5)", 'eq(feedback_key, "k")'], [second]: ['has(tags, "s1")'] };
    const narrowed = await v2({ experiment_ids: [first, second], filters: both });
    expect(narrowed.items.map(({ id }) => id)).toEqual([ids[1]]);
    const path = `/api/v2/datasets/${dataset}/experiment-runs`;
    const elsewhere = { experiment_ids: [first], filters: { [second]: ["eq(is_root, true)"] } };
    expect(await refusal(path, elsewhere)).toEqual([422, "Invalid body.filters: an experiment is not in the list."]);
    const [status] = await refusal(path, { experiment_ids: [first], filters: { [first]: ["eq("] } });
    expect(status).toBe(400);
  });

  it("sorts by the mean of a score, and leaves those without one for the end", async () => {
    const listSorted = async (more: object, by = "feedback.k") => {
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const body = { experiment_ids: [first], page_size: 2, sort: { by, ...more }, ...(cursor && { cursor }) };
        const page: Page = await v2(body);
        seen.push(...page.items.map(({ id }) => id));
        cursor = page.next_cursor;
      } while (cursor);
      return seen;
    };
    const [a, b, c] = ids;
    expect(await listSorted({})).toEqual([b, a, c]);
    expect(await listSorted({ order: "ASC" }, "k")).toEqual([c, a, b]);
    expect(await listSorted({}, "none")).toEqual(ids);
    const path = `/api/v2/datasets/${dataset}/experiment-runs`;
    expect(await refusal(path, { experiment_ids: [first, second], sort: { by: "k" } })).toEqual([
      422,
      "Invalid body.sort: give one experiment in experiment_ids.",
    ]);
  });

  it("is of the given examples and experiments of this dataset", async () => {
    const some = await v2({ experiment_ids: [first], example_ids: [ids[2], crypto.randomUUID()] });
    expect(some.items.map(({ id }) => id)).toEqual([ids[2]]);
    expect((await v2({ experiment_ids: [first], example_ids: [] })).items).toEqual([]);
    const path = `/api/v2/datasets/${dataset}/experiment-runs`;
    const [elsewhere] = await refusal(path, { experiment_ids: [crypto.randomUUID()] });
    const [compared] = await refusal(path, { experiment_ids: [first], comparative_experiment_id: crypto.randomUUID() });
    const [none] = await refusal(path, { experiment_ids: [] });
    const [typo] = await refusal(path, { experiment_ids: [first], filter: {} });
    expect([elsewhere, compared, none, typo]).toEqual([404, 404, 422, 422]);
  });
});

it("takes the permission to read traces, too", async () => {
  const role = { permissions: ["datasets.read"] };
  await ask(caller, "/api/v1/roles/only-datasets", { method: "PUT", body: role });
  const { key } = await ask<{ key: string }>(caller, "/api/v1/api-keys", {
    body: { name: "r", role: "only-datasets" },
  });
  const headers = { "x-api-key": key };
  const calls = [
    caller.fetch(`/datasets/${dataset}/runs`, { body: { session_ids: [first] }, headers }),
    caller.fetch(`/datasets/${dataset}/compare?experiment=${first}`, { headers }),
    caller.fetch(`/datasets/${dataset}`, { headers }),
  ];
  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([403, 403, 200]);
});
