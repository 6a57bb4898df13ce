/** Examples found by their inputs, and copied to another dataset. */
import { beforeAll, describe, expect, it } from "vitest";
import { WordRanking } from "../../../../src/traces/review/examples/search.ts";
import { type Caller, newCaller } from "../../../support/caller.ts";
import { ask, blobKeys, type Example, exampleParts, newDataset, sendExamples } from "../../../support/examples.ts";

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

const LARGE = `zebra ${"文".repeat(100_000)}`;

describe("a search", () => {
  it("ranks by the words that texts share, rare words and short texts first", () => {
    const ranking = new WordRanking("the red Fox");
    const texts = { long: "the fox and the hound ran far away", short: "fox", red: "RED", other: "a dog", the: "the" };
    for (const [id, text] of Object.entries(texts)) ranking.add(id, text);
    expect(ranking.best(9).map(({ id }) => id)).toEqual(["red", "long", "short", "the"]);
    expect(ranking.best(1)).toEqual([{ id: "red", score: expect.closeTo(1.86, 1) }]);
    expect(new WordRanking("").best(5)).toEqual([]);
  });

  it("finds examples by inputs of any depth and size", async () => {
    const dataset = await newDataset(caller);
    const inputs = [{ q: "How do I pay?" }, { deep: [{ q: "Where is my order?" }] }, { q: LARGE }, { order: "none" }];
    const body = inputs.map((given) => ({ dataset_id: dataset, inputs: given, outputs: { a: 1 }, metadata: { k: 1 } }));
    const made = await ask<Example[]>(caller, "/examples/bulk", { body });
    const search = (given: object) =>
      ask<{ examples: (Example & { score: number })[] }>(caller, `/datasets/${dataset}/search`, { body: given });
    const found = await search({ inputs: { question: "where is the ORDER" }, limit: 2 });
    expect(found.examples).toMatchObject([{ id: made[1]?.id, inputs: inputs[1], outputs: { a: 1 } }]);
    expect(found.examples[0]?.score).toBeGreaterThan(0);
    expect((await search({ inputs: { q: "Zebra" } })).examples.map(({ id }) => id)).toEqual([made[2]?.id]);
    expect((await search({ inputs: { q: "pay" }, filter: "has(metadata, '{\"k\":2}')" })).examples).toEqual([]);
    const long = { numbers: Array.from({ length: 290_000 }, () => 0), q: "zebra" };
    expect((await search({ inputs: long })).examples.map(({ id }) => id)).toEqual([made[2]?.id]);
    await ask(caller, `/datasets/${dataset}/index`, { body: { tag: "latest" } });
    await ask(caller, `/datasets/${dataset}/index/sync`, { body: {} });
    expect((await caller.fetch(`/datasets/${dataset}/index`, { body: { tag: "old" } })).status).toBe(501);
  });
});

describe("a copy", () => {
  it("has bodies and attachments of its own", async () => {
    const [source, target] = [await newDataset(caller), await newDataset(caller)];
    const [one, two] = [crypto.randomUUID(), crypto.randomUUID()];
    const file = { name: `${one}.attachment.f`, type: "text/plain", data: Uint8Array.from([1, 255]) };
    const parts = [
      ...exampleParts(one, { inputs: { q: LARGE }, outputs: { a: 1 }, split: "train" }),
      file,
      ...exampleParts(two, { inputs: { q: 2 }, metadata: { k: 1 } }),
    ];
    expect((await sendExamples(caller, source, parts)).status).toBe(201);
    const body = { source_dataset_id: source, target_dataset_id: target };
    const made = await ask<Example[]>(caller, "/datasets/clone", { body });
    const content = (list: Example[]) => list.map(({ inputs, outputs, metadata }) => ({ inputs, outputs, metadata }));
    const originals = await ask<Example[]>(caller, `/examples?dataset=${source}`);
    expect(content(made)).toEqual(content(originals));
    expect(made.every(({ id, dataset_id }) => dataset_id === target && id !== one && id !== two)).toBe(true);
    await ask(caller, `/datasets/${source}`, { method: "DELETE" });
    expect(await blobKeys(caller, target)).toHaveLength(2);
    const large = made.find(({ inputs }) => inputs["q"] === LARGE);
    const { inputs, attachment_urls } = await ask<Example>(caller, `/examples/${large?.id}`);
    expect(inputs).toEqual({ q: LARGE });
    const link = new URL(attachment_urls?.["attachment.f"]?.presigned_url ?? "").pathname;
    expect(new Uint8Array(await (await caller.fetch(link)).arrayBuffer())).toEqual(file.data);
  });

  it("is of a version, a split or the named examples, and holds to the target's schema", async () => {
    const source = await newDataset(caller);
    const make = (inputs: object, more = {}) =>
      ask<Example>(caller, "/examples", { body: { dataset_id: source, inputs, ...more } });
    const old = await make({ n: 1 }, { split: "train" });
    const [version] = await ask<{ as_of: string }[]>(caller, `/datasets/${source}/versions`);
    await make({ n: 2 });
    const clone = async (more: object) => {
      const body = { source_dataset_id: source, target_dataset_id: await newDataset(caller), ...more };
      return (await ask<Example[]>(caller, "/datasets/clone", { body })).map(({ inputs }) => inputs["n"]);
    };
    expect(await clone({})).toEqual([2, 1]);
    expect(await clone({ as_of: version?.as_of })).toEqual([1]);
    expect(await clone({ split: "train" })).toEqual([1]);
    expect(await clone({ examples: [old.id] })).toEqual([1]);
    const schema = { inputs_schema_definition: { type: "object", required: ["q"] } };
    const target_dataset_id = await newDataset(caller, schema);
    const refused = await caller.fetch("/datasets/clone", { body: { source_dataset_id: source, target_dataset_id } });
    expect([refused.status, await refused.text()]).toEqual([422, expect.stringContaining("inputs")]);
    const typo = { source_dataset_id: source, target_dataset_id: source, example_ids: [old.id] };
    expect((await caller.fetch("/datasets/clone", { body: typo })).status).toBe(422);
  });
});
