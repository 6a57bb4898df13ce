/** The schemas of a dataset hold for its examples. */
import { beforeAll, describe, expect, it } from "vitest";
import { findSchemaBreach, findSchemaFault } from "../../../../src/lib/json-schema.ts";
import { WorkBudget } from "../../../../src/lib/work-budget.ts";
import { type Caller, newCaller } from "../../../support/caller.ts";
import { multipart } from "../../../support/traces.ts";

const TREE = { type: "object", properties: { below: { type: "array", items: { $ref: "#" } } }, required: ["n"] };

const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

const breachOf = (schema: Record<string, unknown>, value: unknown) =>
  findSchemaBreach(schema, value, new WorkBudget("The check", "Ask for less."));

describe("a JSON Schema", () => {
  it.each([
    [{ type: ["string", "null"] }, null, 1, "must be string or null"],
    [{ type: "integer" }, 2, 2.5, "must be integer"],
    [{ type: "object" }, {}, [], "must be object"],
    [{ enum: ["a", { b: [1] }] }, { b: [1] }, { b: [2] }, "must be one of the values of enum"],
    [{ const: { a: 1, b: 2 } }, { b: 2, a: 1 }, { a: 1 }, "must be the value of const"],
    [{ minimum: 1, exclusiveMaximum: 3 }, 1, 3, "must be less than 3"],
    [{ multipleOf: 5 }, 10, 12, "must be a multiple of 5"],
    [{ minLength: 1, maxLength: 2 }, "😀😀", "abc", "must have at most 2 characters"],
    [{ minItems: 1 }, [0], [], "must have at least 1 items"],
    [{ maxProperties: 1 }, { a: 1 }, { a: 1, b: 2 }, "must have at most 1 members"],
    [{ properties: { a: { type: "string" } }, additionalProperties: false }, { a: "x" }, { b: 1 }, "b is not allowed"],
    [{ required: ["a"] }, { a: null }, { b: 1 }, "a is required"],
    [{ prefixItems: [{ type: "string" }], items: { type: "number" } }, ["a", 1], ["a", "b"], "1 must be number"],
    [{ anyOf: [{ type: "string" }, { type: "number" }] }, 1, true, "must pass one of anyOf"],
    [{ oneOf: [{ minimum: 1 }, { minimum: 5 }] }, 2, 6, "must pass exactly one of oneOf"],
    [{ allOf: [{ minimum: 1 }, { maximum: 2 }] }, 2, 3, "must be at most 2"],
    [{ not: { type: "string" } }, 1, "a", "must not pass not"],
    [{ $ref: "#/$defs/a~1b", $defs: { "a/b": { type: "string" } } }, "a", 1, "must be string"],
    [TREE, { n: 1, below: [{ n: 2 }] }, { n: 1, below: [{ n: 2, below: [{}] }] }, "below.0.below.0.n is required"],
    [{ type: "string", format: "date", description: "d" }, "no date", 1, "must be string"],
  ])("%j", (schema, good, bad, said) => {
    expect(findSchemaFault(schema)).toBeUndefined();
    expect(breachOf(schema, good)).toBeUndefined();
    const found = breachOf(schema, bad);
    expect([found?.path, found?.rule].filter((part) => part !== "").join(" ")).toBe(said);
  });

  it("is refused when it could not be enforced", () => {
    expect(findSchemaFault({ properties: { a: { pattern: "^a" } } })).toContain(
      "properties.a.pattern is a keyword that is not enforced",
    );
    expect(findSchemaFault({ $ref: "https://example.com/a.json" })).toContain(
      "must refer to a part of the same schema",
    );
    expect(findSchemaFault({ required: "a" })).toBeDefined();
    expect(findSchemaFault({ type: "strng" })).toBeDefined();
  });

  it("that refers to itself ends", () => {
    expect(breachOf({ $ref: "#" }, 1)).toMatchObject({ rule: "nests deeper than 1000 schemas" });
  });

  const values = Array.from({ length: 7_000 }, (_, i) => `value ${i}`);
  const nestTwice = (n: number): object =>
    n === 0 ? { type: "string" } : { anyOf: [nestTwice(n - 1), nestTwice(n - 1)] };
  it.each([
    ["alternatives within alternatives", { anyOf: [nestTwice(12), { $ref: "#" }] }, 1],
    [
      "references to a long enum",
      { allOf: times(950, { $ref: "#/$defs/e" }), $defs: { e: { enum: values } } },
      values.at(-1),
    ],
    ["a long enum for each of many items", { items: { enum: values } }, times(20_000, values.at(-1))],
    [
      "a const that is a large object",
      { items: { const: Object.fromEntries(values.map((v) => [v, 1])) } },
      Array(300).fill(Object.fromEntries(values.map((v) => [v, 1]))),
    ],
    ["lengths of a long text", { allOf: times(900, { maxLength: 2_000_000 }) }, "a".repeat(1_000_000)],
    [
      "names of many members",
      { allOf: times(300, { maxProperties: 9_000 }) },
      Object.fromEntries(values.map((v) => [v, 1])),
    ],
  ] as const)("does no more work than a request may: %s", (_, schema, value) => {
    expect(() => breachOf(schema as Record<string, unknown>, value)).toThrow(
      "The check takes too much work. Ask for less.",
    );
  });
});

describe("a dataset with schemas", () => {
  let caller: Caller;
  let dataset_id: string;
  const question = (type: string) => ({ type: "object", properties: { q: { type } }, required: ["q"] });
  beforeAll(async () => {
    caller = await newCaller();
    const body = {
      name: "held",
      inputs_schema_definition: question("string"),
      outputs_schema_definition: { maxProperties: 1 },
    };
    dataset_id = (await (await caller.fetch("/datasets", { body })).json<{ id: string }>()).id;
  });

  const INPUTS = expect.stringContaining("inputs.q must be string, by the dataset's inputs_schema_definition");

  it("takes an example that passes, and refuses others over JSON", async () => {
    const post = async (example: object) => caller.fetch("/examples", { body: { dataset_id, ...example } });
    const made = await post({ inputs: { q: "a" }, outputs: { a: 1 } });
    expect(made.status).toBe(200);
    const { id } = await made.json<{ id: string }>();
    const refused = await post({ inputs: { q: 1 } });
    expect([refused.status, await refused.text()]).toEqual([422, INPUTS]);
    expect((await post({ inputs: { q: "a" }, outputs: { a: 1, b: 2 } })).status).toBe(422);
    const bulk = await caller.fetch("/examples/bulk", { body: [{ dataset_id, inputs: { q: 1 } }] });
    expect(bulk.status).toBe(422);
    const patch = async (body: object) => caller.fetch(`/examples/${id}`, { method: "PATCH", body });
    expect((await patch({ inputs: { q: 2 } })).status).toBe(422);
    expect((await patch({ metadata: { a: 1 } })).status).toBe(200);
    expect(await (await caller.fetch(`/examples?dataset=${dataset_id}`)).json()).toMatchObject([
      { inputs: { q: "a" } },
    ]);
  });

  it("refuses others over multipart/form-data", async () => {
    const id = crypto.randomUUID();
    const body = multipart([
      { name: id, data: "{}" },
      { name: `${id}.inputs`, data: '{"q":1}' },
    ]);
    const headers = { "content-type": "multipart/form-data; boundary=----LangSmithFormBoundaryabc" };
    const refused = await caller.fetch(`/v1/platform/datasets/${dataset_id}/examples`, {
      method: "POST",
      body,
      headers,
    });
    expect([refused.status, await refused.text()]).toEqual([422, INPUTS]);
  });

  it("cannot have a schema that is not enforced", async () => {
    const body = { name: "loose", inputs_schema_definition: { properties: { q: { pattern: "a" } } } };
    const refused = await caller.fetch("/datasets", { body });
    expect([refused.status, await refused.text()]).toEqual([
      422,
      expect.stringContaining("properties.q.pattern is a keyword"),
    ]);
  });
});

it("an update with attachments and without operations replaces, and one of another dataset is a conflict", async () => {
  const caller = await newCaller();
  const [first, second] = await Promise.all(
    ["a", "b"].map(
      async (name) => (await (await caller.fetch("/datasets", { body: { name } })).json<{ id: string }>()).id,
    ),
  );
  const id = crypto.randomUUID();
  const send = async (
    dataset: string | undefined,
    method: string,
    file: string,
    more: { name: string; data: string }[] = [],
  ) =>
    caller.fetch(`/v1/platform/datasets/${dataset}/examples`, {
      method,
      body: multipart([
        { name: id, data: "{}" },
        { name: `${id}.inputs`, data: "{}" },
        { name: `${id}.attachment.${file}`, type: "text/plain", data: file },
        ...more,
      ]),
      headers: { "content-type": "multipart/form-data; boundary=----LangSmithFormBoundaryabc" },
    });
  const attachments = async () => {
    const found = await caller.fetch(`/examples?id=${id}&select=attachment_urls`);
    const [example] = await found.json<{ attachment_urls: object }[]>();
    return Object.keys(example?.attachment_urls ?? {}).sort();
  };
  expect((await send(first, "POST", "one")).status).toBe(201);
  expect((await send(first, "PATCH", "two")).status).toBe(201);
  expect(await attachments()).toEqual(["attachment.two"]);
  const operations = [{ name: `${id}.attachments_operations`, data: '{"retain":["two"]}' }];
  expect((await send(first, "PATCH", "three", operations)).status).toBe(201);
  expect(await attachments()).toEqual(["attachment.three", "attachment.two"]);
  expect((await send(second, "PATCH", "four")).status).toBe(409);
});
