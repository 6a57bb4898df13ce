/** Datasets: their examples over JSON and multipart, versions, splits, and what is left after deletion. */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { eraseForGood } from "../../../../src/traces/review/examples/write.ts";
import { type Caller, newCaller } from "../../../support/caller.ts";
import { ask, blobKeys, type Example, exampleParts, newDataset, sendExamples } from "../../../support/examples.ts";
import { type MultipartPart, NOON, runParts, sendMultipart, sentRun } from "../../../support/traces.ts";

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

const LARGE = { text: "文".repeat(100_000) };
const PNG = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0xff, 0xfe, 0x00]);

interface Written {
  count: number;
  example_ids: string[];
  as_of: string;
}

async function upload(dataset: string, more: object = {}): Promise<{ id: string; as_of: string }> {
  const id = crypto.randomUUID();
  const answer = await sendExamples(caller, dataset, exampleParts(id, { inputs: { id }, ...more }));
  expect(answer.status).toBe(201);
  return { id, as_of: (await answer.json<Written>()).as_of };
}

const list = async (dataset: string, query = "") => ask<Example[]>(caller, `/examples?dataset=${dataset}${query}`);
const idsIn = async (dataset: string, query = "") => (await list(dataset, query)).map(({ id }) => id).toSorted();

describe("examples sent as multipart", () => {
  it("are stored with bodies of any size, text as it was sent, and attachments", async () => {
    const dataset = await newDataset(caller);
    const [small, large] = [crypto.randomUUID(), crypto.randomUUID()];
    const answer = await sendExamples(caller, dataset, [
      ...exampleParts(small, { metadata: { k: 1 }, split: "train" }),
      { name: `${small}.inputs`, data: '{"n": 12345678901234567890}' },
      ...exampleParts(large, { inputs: LARGE, outputs: { a: 1 }, created_at: "2026-01-02T03:04:05.678Z" }),
      { name: `${large}.attachment.my.file`, type: "image/png", data: PNG },
      { name: `${large}.attachment.文`, type: "文/文", data: PNG },
    ]);
    expect(answer.status).toBe(201);
    expect(await answer.json()).toMatchObject({ count: 2, example_ids: [small, large], as_of: expect.any(String) });

    const text = await (await caller.fetch(`/examples/${small}`)).text();
    expect(text).toContain('"inputs":{"n": 12345678901234567890}');
    expect(JSON.parse(text)).toMatchObject({ metadata: { k: 1, dataset_split: ["train"] }, outputs: null });
    const example = await ask<Example>(caller, `/examples/${large}`);
    expect(example).toMatchObject({ inputs: LARGE, outputs: { a: 1 }, created_at: "2026-01-02T03:04:05.678Z" });
    const file = example.attachment_urls?.["attachment.my.file"];
    expect(file?.mime_type).toBe("image/png");
    const read = await caller.fetch(new URL(file?.presigned_url ?? "").pathname, { headers: { "x-api-key": "" } });
    expect(read.headers.get("content-type")).toBe("image/png");
    expect(new Uint8Array(await read.arrayBuffer())).toEqual(PNG);
    const odd = example.attachment_urls?.["attachment.文"];
    expect(odd?.mime_type).toBe("application/octet-stream");
    expect((await caller.fetch(new URL(odd?.presigned_url ?? "").pathname)).status).toBe(200);
    expect((await list(dataset)).map(({ inputs }) => Object.keys(inputs))).toEqual([["n"], ["text"]]);
    expect(await blobKeys(caller, dataset)).toHaveLength(3);
    const rows = await env.DB.prepare(
      "SELECT max(length(CAST(inputs AS BLOB))) AS n FROM examples WHERE dataset_id = ?",
    )
      .bind(dataset)
      .first<number>("n");
    expect(rows).toBeLessThan(100);
  });

  it("can be sent again, and refuse another content under the same id", async () => {
    const dataset = await newDataset(caller);
    const id = crypto.randomUUID();
    const send = (inputs: object, to = dataset) => sendExamples(caller, to, exampleParts(id, { inputs }));
    const [first, again] = [await send({ a: 1 }), await send({ a: 1 })];
    expect([first.status, again.status]).toEqual([201, 201]);
    expect((await again.json<Written>()).as_of).toBe((await first.json<Written>()).as_of);
    expect((await send({ a: 2 })).status).toBe(409);
    expect((await send({ a: 1 }, await newDataset(caller))).status).toBe(409);
    expect(await ask<unknown[]>(caller, `/datasets/${dataset}/versions`)).toHaveLength(1);
  });

  it("are written at once, many in one version", async () => {
    const dataset = await newDataset(caller);
    const ids = Array.from({ length: 300 }, () => crypto.randomUUID());
    const text = "y".repeat(20_000);
    const parts = ids.flatMap((id, n) => exampleParts(id, { inputs: { n, text } }));
    expect((await sendExamples(caller, dataset, parts, "POST", "/api/v1/platform")).status).toBe(201);
    expect(await ask(caller, `/datasets/${dataset}`)).toMatchObject({ example_count: 300 });
    expect(await idsIn(dataset, "&limit=400")).toEqual(ids.toSorted());
    const pages = [await idsIn(dataset, "&limit=100"), await idsIn(dataset, "&limit=100&offset=100")];
    expect(new Set(pages.flat()).size).toBe(200);
  });

  it("change what a patch names and nothing else", async () => {
    const dataset = await newDataset(caller);
    const id = crypto.randomUUID();
    await sendExamples(caller, dataset, [
      ...exampleParts(id, { inputs: LARGE, outputs: { a: 1 }, metadata: { k: 1 }, split: ["x", "y"] }),
      { name: `${id}.attachment.a`, type: "text/plain", data: "A" },
      { name: `${id}.attachment.b`, type: "text/plain", data: "B" },
    ]);
    const patch = async (head: object, more: { name: string; data: string; type?: string }[] = []) => {
      const answer = await sendExamples(caller, dataset, [{ name: id, data: JSON.stringify(head) }, ...more], "PATCH");
      expect([answer.status, await answer.json()]).toMatchObject([201, { count: 1, example_ids: [id] }]);
      return ask<Example>(caller, `/examples/${id}`);
    };
    const outputs = await patch({}, [{ name: `${id}.outputs`, data: '{"b":2}' }]);
    expect(outputs).toMatchObject({ inputs: LARGE, outputs: { b: 2 }, metadata: { k: 1, dataset_split: ["x", "y"] } });
    expect(Object.keys(outputs.attachment_urls ?? {})).toEqual(["attachment.a", "attachment.b"]);
    expect((await patch({ metadata: { m: 2 } })).metadata).toEqual({ m: 2, dataset_split: ["x", "y"] });
    expect((await patch({ split: "z" })).metadata).toEqual({ m: 2, dataset_split: ["z"] });
    const operations = { name: `${id}.attachments_operations`, data: '{"rename":{"a":"c"}}' };
    const renamed = await patch({}, [operations, { name: `${id}.attachment.d`, type: "text/plain", data: "D" }]);
    expect(Object.keys(renamed.attachment_urls ?? {})).toEqual(["attachment.c", "attachment.d"]);
  });

  it.each<[string, (id: string) => MultipartPart[], number, string]>([
    ["a name that is no id", () => [{ name: "post.x", data: "{}" }], 422, "must be the id"],
    [
      "an unknown field",
      (id) => [...exampleParts(id, { inputs: {} }), { name: `${id}.extra`, data: "{}" }],
      422,
      "expected inputs",
    ],
    [
      "inputs that are a list",
      (id) => [
        { name: id, data: "{}" },
        { name: `${id}.inputs`, data: "[]" },
      ],
      422,
      "JSON object",
    ],
    ["damaged JSON", (id) => [{ name: id, data: "{" }], 422, "JSON object"],
    ["a body without its example", (id) => [{ name: `${id}.inputs`, data: "{}" }], 422, "there is no part"],
    ["no inputs", (id) => [{ name: id, data: "{}" }], 422, "inputs is required"],
    ["a split that is a number", (id) => exampleParts(id, { inputs: {}, split: 7 }), 422, "split"],
    [
      "metadata that is too large",
      (id) => exampleParts(id, { inputs: {}, metadata: { a: "x".repeat(70_000) } }),
      422,
      "bytes",
    ],
    ["no parts", () => [], 422, "holds no example"],
    ["a run that is not there", (id) => exampleParts(id, { source_run_id: id, use_source_run_io: true }), 404, "Run"],
  ])("refuse %s", async (_, createParts, status, detail) => {
    const dataset = await newDataset(caller);
    const answer = await sendExamples(caller, dataset, createParts(crypto.randomUUID()));
    expect([answer.status, await answer.json()]).toMatchObject([status, { detail: expect.stringContaining(detail) }]);
    expect(await list(dataset)).toEqual([]);
  });

  it("refuse more than one request can write", async () => {
    const dataset = await newDataset(caller);
    const many = (count: number, of: Record<string, unknown>) =>
      Array.from({ length: count }, () => exampleParts(crypto.randomUUID(), of)).flat();
    const small = await sendExamples(caller, dataset, many(300, { inputs: { a: "x".repeat(30_000) } }));
    expect([small.status, await small.json()]).toMatchObject([
      413,
      { detail: expect.stringContaining("small bodies") },
    ]);
    const heads = await sendExamples(caller, dataset, many(90, { inputs: {}, metadata: { a: "x".repeat(50_000) } }));
    expect([heads.status, await heads.json()]).toMatchObject([413, { detail: expect.stringContaining("Metadata") }]);
    expect(await list(dataset)).toEqual([]);
  });

  it("take over inputs, outputs and attachments of a run", async () => {
    const dataset = await newDataset(caller);
    const run = sentRun(NOON, { inputs: { q: 1 }, outputs: LARGE, end_time: "2026-11-20T15:49:55Z" });
    const file = { name: `attachment.${run.id}.picture`, type: "image/png", data: PNG };
    await sendMultipart(caller, [...runParts("post", run), file]);
    const id = crypto.randomUUID();
    const head = { source_run_id: run.id, use_source_run_io: true, use_source_run_attachments: ["picture"] };
    expect((await sendExamples(caller, dataset, exampleParts(id, head))).status).toBe(201);
    const example = await ask<Example>(caller, `/examples/${id}`);
    expect(example).toMatchObject({ inputs: { q: 1 }, outputs: LARGE, source_run_id: run.id });
    expect(Object.keys(example.attachment_urls ?? {})).toEqual(["attachment.picture"]);
  });
});

describe("examples over JSON", () => {
  it("are created, changed, listed and deleted", async () => {
    const dataset_id = await newDataset(caller);
    const one = await ask<Example>(caller, "/examples", { body: { dataset_id, inputs: { a: 1 }, split: "test" } });
    expect(one).toMatchObject({ inputs: { a: 1 }, outputs: null, metadata: { dataset_split: ["test"] } });
    const bulk = [
      { dataset_id, inputs: { a: 2 }, metadata: { lang: "de" } },
      { dataset_id, inputs: { a: 3 }, outputs: { b: 3 } },
    ];
    const [two, three] = await ask<[Example, Example]>(caller, "/examples/bulk", { body: bulk });
    expect([two.inputs, three.outputs]).toEqual([{ a: 2 }, { b: 3 }]);
    const changed = await ask<Example>(caller, `/examples/${one.id}`, {
      method: "PATCH",
      body: { outputs: { ok: true } },
    });
    expect(changed).toMatchObject({ inputs: { a: 1 }, outputs: { ok: true } });
    await ask(caller, "/examples/bulk", { method: "PATCH", body: [{ id: two.id, outputs: { n: 2 } }] });
    expect(await ask(caller, `/examples/${two.id}`)).toMatchObject({ outputs: { n: 2 }, metadata: { lang: "de" } });

    const filters: [string, string[]][] = [
      ["&splits=test", [one.id]],
      ["&splits=test&splits=base", [one.id, two.id, three.id]],
      [`&metadata=${encodeURIComponent('{"lang":"de"}')}`, [two.id]],
      [`&filter=${encodeURIComponent('not(exists(metadata, "lang"))')}`, [one.id, three.id]],
      [
        `&filter=${encodeURIComponent('or(has(metadata, \'{"lang":"de"}\'), has(metadata, \'{"lang":"fr"}\'))')}`,
        [two.id],
      ],
      [`&id=${three.id}`, [three.id]],
    ];
    for (const [query, ids] of filters)
      expect([query, await idsIn(dataset_id, query)]).toEqual([query, ids.toSorted()]);
    const [selected] = await list(dataset_id, `&id=${three.id}&select=id&select=attachment_urls`);
    expect(Object.keys(selected ?? {})).toContain("attachment_urls");
    expect(Object.keys(selected ?? {})).not.toContain("outputs");
    expect(await ask(caller, `/examples/count?dataset=${dataset_id}`)).toBe(3);

    await ask(caller, `/examples/${one.id}`, { method: "DELETE" });
    await ask(caller, `/examples?example_ids=${two.id}&example_ids=${three.id}`, { method: "DELETE" });
    expect(await list(dataset_id)).toEqual([]);
    expect((await caller.fetch(`/examples/${one.id}`)).status).toBe(404);
  });

  it("are filtered up to what one statement can bind", async () => {
    const dataset = await newDataset(caller);
    const { id } = await upload(dataset, {
      metadata: Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`k${n}`, n])),
    });
    const many = (count: number) =>
      JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n])));
    const renderHas = (count: number) => `has(metadata, '${many(count)}')`;
    const query = (filter: string) => `&metadata=${encodeURIComponent(many(29))}&filter=${encodeURIComponent(filter)}`;
    const renderNested = (levels: number) => "not(".repeat(levels) + renderHas(1) + ")".repeat(levels);
    const ids = "&splits=base".repeat(50) + `&id=${id}`.repeat(50);
    expect(await idsIn(dataset, query(renderHas(10)) + ids)).toEqual([id]);
    expect(await idsIn(dataset, query(renderNested(4)))).toEqual([id]);
    for (const filter of [renderHas(11), renderNested(5), `has(metadata, '{"a":[1]}')`]) {
      expect((await caller.fetch(`/examples?dataset=${dataset}${query(filter)}`)).status).toBe(400);
    }
  });

  it.each([
    ["/examples", 422],
    ["/examples?dataset=no-id", 422],
    [`/examples?dataset=${crypto.randomUUID()}`, 404],
    ["/examples?id=00000000-0000-4000-8000-000000000000&as_of=name", 422],
    ["/examples?id=00000000-0000-4000-8000-000000000000&metadata=[", 422],
    [`/examples?id=00000000-0000-4000-8000-000000000000&filter=${encodeURIComponent('eq(name, "x")')}`, 400],
    ["/examples?id=00000000-0000-4000-8000-000000000000&limit=0", 422],
  ])("%s is a %i", async (path, status) => {
    expect((await caller.fetch(path)).status).toBe(status);
  });
});

describe("versions", () => {
  it("keep what a dataset held, have names, and can be compared", async () => {
    const dataset = await newDataset(caller);
    const one = await upload(dataset);
    const two = await upload(dataset);
    await ask(caller, `/examples/${one.id}`, { method: "PATCH", body: { outputs: { v: 2 } } });
    await ask(caller, `/examples/${two.id}`, { method: "DELETE" });
    const three = await upload(dataset, { split: "late" });

    const versions = await ask<{ as_of: string; tags: string[] }[]>(caller, `/datasets/${dataset}/versions`);
    expect(versions).toHaveLength(5);
    expect(versions.map(({ tags }) => tags)).toEqual([["latest"], [], [], [], []]);
    expect(versions[4]?.as_of).toBe(one.as_of);
    expect(new Set(versions.map(({ as_of }) => as_of)).size).toBe(5);

    expect(await idsIn(dataset)).toEqual([one.id, three.id].toSorted());
    expect(await idsIn(dataset, `&as_of=${two.as_of}`)).toEqual([one.id, two.id].toSorted());
    expect(await ask(caller, `/examples/${one.id}?as_of=${two.as_of}`)).toMatchObject({ outputs: null });
    expect(await ask(caller, `/datasets/${dataset}/splits`)).toEqual(["base", "late"]);
    expect(await ask(caller, `/datasets/${dataset}/splits?as_of=${two.as_of}`)).toEqual(["base"]);

    const tag = { as_of: two.as_of, tag: "gold" };
    await ask(caller, `/datasets/${dataset}/tags`, { method: "PUT", body: tag });
    expect(await idsIn(dataset, "&as_of=gold")).toEqual([one.id, two.id].toSorted());
    expect(await ask(caller, `/datasets/${dataset}/version?tag=gold`)).toEqual({ as_of: two.as_of, tags: ["gold"] });
    expect((await caller.fetch(`/examples?dataset=${dataset}&as_of=silver`)).status).toBe(404);
    const diff = `/datasets/${dataset}/versions/diff?from_version=gold&to_version=latest`;
    expect(await ask(caller, diff)).toEqual({
      examples_added: [three.id],
      examples_modified: [one.id],
      examples_removed: [two.id],
    });
  });

  it("are one for each of many requests at the same moment", async () => {
    const dataset = await newDataset(caller);
    const sent = await Promise.all(Array.from({ length: 8 }, () => upload(dataset)));
    expect(new Set(sent.map(({ as_of }) => as_of)).size).toBe(8);
    for (const [index, { as_of }] of sent.toSorted((a, b) => (a.as_of < b.as_of ? -1 : 1)).entries()) {
      expect(await idsIn(dataset, `&as_of=${as_of}`)).toHaveLength(index + 1);
    }
  });
});

it("splits are changed by both generations of the SDK", async () => {
  const dataset = await newDataset(caller);
  const [one, two] = [await upload(dataset), await upload(dataset)];
  const body = { split_name: "a", examples: [one.id], remove: false };
  expect(await ask(caller, `/datasets/${dataset}/splits`, { method: "PUT", body })).toEqual(["a", "base"]);
  const operations = [{ key: "dataset_split", operation: "array_add", values: ["b"] }];
  const missing = crypto.randomUUID();
  const path = `/v1/platform/datasets/${dataset}/examples/metadata`;
  const change = { example_ids: [two.id, missing], operations };
  expect(await ask(caller, path, { method: "PATCH", body: change })).toEqual({
    statuses: [{ id: two.id, status: "UPDATED" }, expect.objectContaining({ id: missing, status: "NOT_FOUND" })],
  });
  expect(await idsIn(dataset, "&splits=b")).toEqual([two.id]);
  const removal = { split_name: "base", examples: [one.id, two.id], remove: true };
  expect(await ask(caller, `/datasets/${dataset}/splits`, { method: "PUT", body: removal })).toEqual(["a", "b"]);
  const strange = { ...removal, examples: [one.id, missing] };
  expect((await caller.fetch(`/datasets/${dataset}/splits`, { method: "PUT", body: strange })).status).toBe(404);
});

it("changes of one example at the same moment are all kept", async () => {
  const dataset = await newDataset(caller);
  const { id } = await upload(dataset);
  const names = ["a", "b", "c", "d"];
  await Promise.all([
    ...names.map(async (split_name) =>
      ask(caller, `/datasets/${dataset}/splits`, { method: "PUT", body: { split_name, examples: [id] } }),
    ),
    ask(caller, `/examples/${id}`, { method: "PATCH", body: { outputs: { kept: true } } }),
  ]);
  expect(await ask(caller, `/datasets/${dataset}/splits`)).toEqual(["a", "b", "base", "c", "d"]);
  expect(await ask(caller, `/examples/${id}`)).toMatchObject({ outputs: { kept: true } });
  expect(await ask<unknown[]>(caller, `/datasets/${dataset}/versions`)).toHaveLength(6);
});

it("a dataset is created as the SDK does, and changed", async () => {
  const name = crypto.randomUUID();
  const schema = { type: "object" };
  const made = await ask<{ id: string }>(caller, "/datasets", {
    body: { name, extra: { source: "sdk", metadata: { team: "x" } }, inputs_schema_definition: schema },
  });
  expect(made).toMatchObject({ metadata: { team: "x" }, inputs_schema_definition: schema, example_count: 0 });
  const filter = encodeURIComponent('{"team":"x"}');
  expect(await ask(caller, `/datasets?metadata=${filter}&id=${made.id}`)).toHaveLength(1);
  const changed = await ask(caller, `/datasets/${made.id}`, { method: "PATCH", body: { name: `${name}2` } });
  expect(changed).toMatchObject({ name: `${name}2`, metadata: { team: "x" } });
  const other = await newDataset(caller);
  const taken = await caller.fetch(`/datasets/${other}`, { method: "PATCH", body: { name: `${name}2` } });
  expect(taken.status).toBe(409);
});

describe("deletion", () => {
  const count = async (table: string, dataset: string) =>
    env.DB.prepare(`SELECT count(*) AS n FROM ${table} WHERE dataset_id = ?`).bind(dataset).first<number>("n");

  it("of a dataset leaves no row and no object", async () => {
    const dataset = await newDataset(caller);
    const { id, as_of } = await upload(dataset, { outputs: LARGE });
    await ask(caller, `/datasets/${dataset}/tags`, { method: "PUT", body: { as_of, tag: "t" } });
    await ask(caller, `/examples/${id}`, { method: "DELETE" });
    expect(await blobKeys(caller, dataset)).toHaveLength(1);
    await ask(caller, `/datasets/${dataset}`, { method: "DELETE" });
    expect(await blobKeys(caller, dataset)).toEqual([]);
    const left = await Promise.all(
      ["examples", "dataset_versions", "dataset_tags"].map((table) => count(table, dataset)),
    );
    expect(left).toEqual([0, 0, 0]);
    expect((await sendExamples(caller, dataset, exampleParts(id, { inputs: {} }))).status).toBe(404);
  });

  it("of examples, permanently, removes them from all versions, and only objects of their own", async () => {
    const dataset = await newDataset(caller);
    const [one, two] = [await upload(dataset, { outputs: LARGE }), await upload(dataset, { outputs: LARGE })];
    const file = { name: `${one.id}.attachment.a`, type: "text/plain", data: "A" };
    await sendExamples(caller, dataset, [{ name: one.id, data: "{}" }, file], "PATCH");
    expect(await blobKeys(caller, dataset)).toHaveLength(2);
    const body = { example_ids: [one.id], hard_delete: true };
    await ask(caller, "/v1/platform/datasets/examples/delete", { body });
    expect(await idsIn(dataset, `&as_of=${two.as_of}`)).toEqual([two.id]);
    expect(await blobKeys(caller, dataset)).toHaveLength(1);
    expect((await ask<Example>(caller, `/examples/${two.id}`)).outputs).toEqual(LARGE);
  });

  it("of examples, permanently, can be sent again after R2 failed", async () => {
    const dataset = await newDataset(caller);
    const one = await upload(dataset, { outputs: LARGE });
    const failing: Partial<R2Bucket> = {
      delete: async () => {
        throw new Error("R2 is down.");
      },
    };
    const bindings = { ...env, BLOBS: failing as R2Bucket };
    await expect(eraseForGood(bindings, caller.workspaceId, [one.id])).rejects.toThrow("R2 is down.");
    expect(await blobKeys(caller, dataset)).toHaveLength(1);
    const body = { example_ids: [one.id], hard_delete: true };
    await ask(caller, "/v1/platform/datasets/examples/delete", { body });
    expect(await blobKeys(caller, dataset)).toEqual([]);
    expect(await idsIn(dataset, `&as_of=${one.as_of}`)).toEqual([]);
  });
});
