/** Datasets, experiments and annotation queues of a workspace that encrypts read as in any other, and copies of examples are sealed. */
import { env } from "cloudflare:workers";
import { beforeAll, expect, it } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import { ask, blobKeys, type Example, newDataset } from "../../support/examples.ts";
import { NOON, runParts, sendMultipart, sentRun } from "../../support/traces.ts";
import { makeKey } from "../../support/encryption.ts";

const BEFORE = "the safe is under the floor";
const SAID = "the vault is behind the painting";
const LARGE = SAID + "x".repeat(300_000);

let caller: Caller;
let dataset: string;
let made: Example[];
const schema = {
  inputs_schema_definition: { type: "object", properties: { q: { type: "string" } }, required: ["q"] },
};

const add = (q: string) =>
  ask<Example>(caller, "/examples", { body: { dataset_id: dataset, inputs: { q }, outputs: { a: q } } });

beforeAll(async () => {
  caller = await newCaller();
  dataset = await newDataset(caller);
  made = [await add(BEFORE)];
  await makeKey(caller);
  made.push(await add(SAID));
});

it("examples are found by their inputs", async () => {
  const body = { inputs: { q: "painting" } };
  const { examples } = await ask<{ examples: Example[] }>(caller, `/datasets/${dataset}/search`, { body });
  expect(examples).toMatchObject([{ id: made[1]?.id, inputs: { q: SAID }, outputs: { a: SAID } }]);
});

it("a download has what was sent", async () => {
  for (const format of ["jsonl", "csv"]) {
    const file = await (await caller.fetch(`/datasets/${dataset}/${format}`)).text();
    expect([format, file.includes(SAID), file.includes(BEFORE)]).toEqual([format, true, true]);
  }
});

it("a copy is checked by the target's schema, reads as its source, and has nothing readable", async () => {
  const target = await newDataset(caller, schema);
  const body = { source_dataset_id: dataset, target_dataset_id: target };
  const copies = await ask<Example[]>(caller, "/datasets/clone", { body });
  expect(copies.map(({ inputs, outputs }) => ({ inputs, outputs }))).toEqual([
    { inputs: { q: SAID }, outputs: { a: SAID } },
    { inputs: { q: BEFORE }, outputs: { a: BEFORE } },
  ]);
  const rows = await env.DB.prepare("SELECT inputs, outputs FROM examples WHERE dataset_id = ?").bind(target).all();
  expect(rows.results).toEqual([
    { inputs: null, outputs: null },
    { inputs: null, outputs: null },
  ]);
  const keys = await blobKeys(caller, target);
  expect(keys).toHaveLength(4);
  for (const key of keys) expect(await (await env.BLOBS.get(key))?.text()).not.toMatch(/safe|vault/);
});

it("runs with large payloads are shown in experiments and in queues", async () => {
  const project = { name: crypto.randomUUID(), reference_dataset_id: dataset };
  const { id, name } = await ask<{ id: string; name: string }>(caller, "/sessions", { body: project });
  const more = { session_name: name, reference_example_id: made[1]?.id, inputs: { q: LARGE }, outputs: { a: LARGE } };
  const run = sentRun(NOON, { ...more, end_time: "2026-11-20T16:49:55Z" });
  expect(await (await sendMultipart(caller, runParts("post", run))).json()).toMatchObject({ rejected: 0 });
  const rows = await ask<unknown[]>(caller, `/datasets/${dataset}/runs`, { body: { session_ids: [id] } });
  expect(rows).toContainEqual(
    expect.objectContaining({
      inputs: { q: SAID },
      runs: [expect.objectContaining({ inputs: { q: LARGE }, outputs: { a: LARGE } })],
    }),
  );
  const { id: queue } = await ask<{ id: string }>(caller, "/annotation-queues", { body: { name: "q" } });
  await ask(caller, `/annotation-queues/${queue}/runs`, { body: [run.id] });
  expect(await ask(caller, `/annotation-queues/${queue}/runs`)).toMatchObject([{ inputs: { q: LARGE } }]);
});
