/** Datasets made from files, and written as files. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, newCaller } from "../../../support/caller.ts";
import { ask, blobKeys, type Example, newDataset } from "../../../support/examples.ts";

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

interface Dataset {
  id: string;
  name: string;
  data_type: string;
  example_count: number;
}

/** Sends a form as browsers and SDKs do. A list is sent as one part an item. */
async function upload(file: string | Uint8Array, fields: Record<string, string | string[]>, name = "questions.csv") {
  const form = new FormData();
  form.append("file", new Blob([file], { type: "text/csv" }), name);
  for (const [key, given] of Object.entries(fields)) for (const value of [given].flat()) form.append(key, value);
  const request = new Request("https://weir.test/", { method: "POST", body: form });
  return caller.fetch("/datasets/upload", {
    method: "POST",
    body: new Uint8Array(await request.arrayBuffer()),
    headers: { "content-type": request.headers.get("content-type") ?? "" },
  });
}

async function uploadExamples(...given: Parameters<typeof upload>): Promise<{ dataset: Dataset; examples: Example[] }> {
  const answer = await upload(...given);
  const text = await answer.text();
  expect([answer.status, text]).toEqual([200, text]);
  const dataset = JSON.parse(text) as Dataset;
  return { dataset, examples: await ask<Example[]>(caller, `/examples?dataset=${dataset.id}`) };
}

async function readRefusal(...given: Parameters<typeof upload>): Promise<[number, string]> {
  const answer = await upload(...given);
  return [answer.status, (await answer.json<{ detail: string }>()).detail];
}

const text = async (path: string) => (await caller.fetch(path)).text();

describe("a CSV file", () => {
  it("becomes a dataset with its rows in their order", async () => {
    const csv = '\uFEFFq,a,topic,extra\r\n"1 + 1, or ""two""",2,maths,x\r\n\r\n"two\nlines",文,"",y';
    const { dataset, examples } = await uploadExamples(csv, {
      name: `csv-${crypto.randomUUID()}`,
      input_keys: ["q", "topic"],
      output_keys: "a",
      metadata_keys: "extra",
      description: "d",
    });
    expect(dataset).toMatchObject({ description: "d", data_type: "kv", example_count: 2 });
    expect(examples.map(({ inputs, outputs }) => [inputs, outputs])).toEqual([
      [{ q: '1 + 1, or "two"', topic: "maths" }, { a: "2" }],
      [{ q: "two\nlines", topic: "" }, { a: "文" }],
    ]);
    expect(examples[0]?.metadata).toEqual({ extra: "x", dataset_split: ["base"] });
  });

  it("has the file's name when the form names none, and a name once", async () => {
    const name = `${crypto.randomUUID()}.csv`;
    const { dataset } = await uploadExamples("a\n1", { input_keys: "a" }, name);
    expect(dataset.name).toBe(name);
    expect(await readRefusal("a\n1", { input_keys: "a" }, name)).toEqual([
      409,
      "A dataset with this name or id exists.",
    ]);
  });

  it.each([
    ["a,b\n1", { input_keys: "a" }, "Invalid file, line 2: it has 1 cells and the header 2."],
    ['a\n"1', { input_keys: "a" }, "Invalid file, line 2: a quote is not closed."],
    [
      'a\n"x\ny"\n1"2',
      { input_keys: "a" },
      "Invalid file, line 4: a quote is within a cell that does not begin with one.",
    ],
    ['a\n"1"2', { input_keys: "a" }, "Invalid file, line 2: text follows a closing quote."],
    ["a,a\n1,2", { input_keys: "a" }, "Invalid file, line 1: two columns have the same name."],
    ["a\n", { input_keys: "a" }, "Invalid file: it has no row."],
    [Uint8Array.from([0x61, 0x0a, 0xff]), { input_keys: "a" }, "Invalid file: it is not UTF-8."],
    ["a\n1", { input_keys: "a", output_keys: "b" }, 'Invalid form: the file has no column "b".'],
    ["a\n1", { output_keys: "a" }, "Invalid form.input_keys: is required, because row 1 has no object inputs."],
    ["a\n1", { input_keys: "a", data_type: "cat" }, expect.stringContaining("Invalid form.data_type")],
    ["a\n1", { input_keys: "a", metadata: "{" }, "Invalid form.metadata: expected JSON."],
  ])("is refused with its fault: %j", async (file, fields: Record<string, string>, detail: unknown) => {
    expect(await readRefusal(file, fields)).toEqual([422, detail]);
  });

  it("cannot be mapped, and needs a file", async () => {
    const mapped = { input_keys: "a", input_key_mappings: '{"a":"b"}' };
    expect(await readRefusal("a\n1", mapped)).toEqual([501, expect.stringContaining("mappings of columns")]);
    const form = '--b\r\nContent-Disposition: form-data; name="name"\r\n\r\nx\r\n--b--\r\n';
    const headers = { "content-type": "multipart/form-data; boundary=b" };
    const answer = await caller.fetch("/datasets/upload", { method: "POST", body: form, headers });
    expect([answer.status, await answer.text()]).toEqual([422, expect.stringContaining("form.file: is required")]);
  });

  it("leaves no dataset when its examples are refused", async () => {
    const name = crypto.randomUUID();
    const schema = JSON.stringify({ type: "object", required: ["b"] });
    const fields = { name, input_keys: "a", inputs_schema_definition: schema };
    expect(await readRefusal(`a\n${"x".repeat(40_000)}`, fields)).toEqual([422, expect.stringContaining("inputs")]);
    expect(await ask(caller, `/datasets?name=${name}`)).toEqual([]);
  });
});

describe("other files", () => {
  it("are JSON Lines with columns, and conversations as JSON in cells", async () => {
    const lines = `${JSON.stringify({ q: { deep: [1] }, a: 2 })}\n\n${JSON.stringify({ q: null })}\n`;
    const named = { name: crypto.randomUUID(), input_keys: "q", output_keys: "a" };
    const { examples } = await uploadExamples(lines, named, "rows.jsonl");
    expect(examples.map(({ inputs, outputs }) => [inputs, outputs])).toEqual([
      [{ q: { deep: [1] } }, { a: 2 }],
      [{ q: null }, {}],
    ]);
    const messages = [{ role: "user", content: "hi" }];
    const chat = { name: crypto.randomUUID(), input_keys: "messages", data_type: "chat" };
    const csv = `messages\n"${JSON.stringify(messages).replaceAll('"', '""')}"`;
    expect((await uploadExamples(csv, chat)).examples[0]?.inputs).toEqual({ messages });
    expect(await readRefusal("[1", named, "rows.jsonl")).toEqual([
      422,
      "Invalid file, line 1: expected a JSON object.",
    ]);
  });
});

describe("a download", () => {
  const LARGE = "文".repeat(30_000);
  let dataset: string;
  beforeAll(async () => {
    dataset = await newDataset(caller);
    const body = [
      { dataset_id: dataset, inputs: { q: "old", n: 1 }, outputs: { a: "x" }, created_at: "2026-01-01T00:00:00Z" },
      {
        dataset_id: dataset,
        inputs: { q: `${LARGE},"` },
        metadata: { topic: "t" },
        created_at: "2026-01-02T00:00:00Z",
      },
    ];
    await ask(caller, "/examples/bulk", { body });
  });

  it("is CSV with a column for each member", async () => {
    expect(await blobKeys(caller, dataset)).toHaveLength(1);
    const answer = await caller.fetch(`/datasets/${dataset}/csv`);
    expect(answer.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect(answer.headers.get("content-disposition")).toBe(`attachment; filename="${dataset}.csv"`);
    const [header, ...rows] = (await answer.text()).trim().split("\r\n");
    expect(header).toBe("id,inputs.q,inputs.n,outputs.a,metadata.topic,metadata.dataset_split");
    const id = "[0-9a-f-]{36}";
    expect(rows[0]).toMatch(new RegExp(`^${id},"${LARGE},""",,,t,"\\[""base""\\]"$`));
    expect(rows[1]).toMatch(new RegExp(`^${id},old,1,x,,"\\[""base""\\]"$`));
  });

  it("is JSON Lines, which make the same dataset again", async () => {
    const lines = await text(`/datasets/${dataset}/jsonl`);
    const read = lines
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Example);
    expect(read).toMatchObject([
      { inputs: { q: `${LARGE},"` }, outputs: null, metadata: { topic: "t" } },
      { inputs: { q: "old", n: 1 }, outputs: { a: "x" } },
    ]);
    const { examples } = await uploadExamples(lines, { name: crypto.randomUUID() }, "again.jsonl");
    const content = ({ inputs, outputs, metadata }: Example) => ({ inputs, outputs, metadata });
    expect(examples.map(content)).toEqual(read.map(content));
  });

  it("is of a version, all of it, and 404 for what is not there", async () => {
    const own = await newDataset(caller);
    const make = (n: number) => ask(caller, "/examples", { body: { dataset_id: own, inputs: { n } } });
    for (let n = 0; n < 3; n++) await make(n);
    const [version] = await ask<{ as_of: string }[]>(caller, `/datasets/${own}/versions`);
    const body = Array.from({ length: 250 }, (_, n) => ({ dataset_id: own, inputs: { n } }));
    await ask(caller, "/examples/bulk", { body });
    expect((await text(`/datasets/${own}/jsonl`)).trim().split("\n")).toHaveLength(253);
    expect((await text(`/datasets/${own}/jsonl?as_of=${version?.as_of}`)).trim().split("\n")).toHaveLength(3);
    expect((await caller.fetch(`/datasets/${own}/jsonl?as_of=none`)).status).toBe(404);
    expect((await caller.fetch(`/datasets/${crypto.randomUUID()}/csv`)).status).toBe(404);
    expect(await text(`/datasets/${await newDataset(caller)}/jsonl`)).toBe("");
  });

  it("is what OpenAI reads, from messages in each form", async () => {
    const own = await newDataset(caller, { data_type: "chat" });
    const call = { id: "c1", name: "add", args: { a: 1 } };
    const stored = {
      input: [
        { type: "system", data: { content: "be brief" } },
        { type: "human", data: { content: "hi" } },
      ],
    };
    const inputs = [
      stored,
      { messages: [{ role: "user", content: "add" }], tools: [{ type: "function" }] },
      { q: "raw" },
    ];
    const outputs = [
      { output: { type: "ai", data: { content: "ho" } } },
      { messages: [{ type: "ai", content: "", tool_calls: [call] }] },
      { a: "plain" },
    ];
    const body = inputs.map((given, at) => ({
      dataset_id: own,
      inputs: given,
      outputs: outputs[at],
      created_at: `2026-01-0${9 - at}T00:00:00Z`,
    }));
    await ask(caller, "/examples/bulk", { body });
    const lines = async (format: string) =>
      (await text(`/datasets/${own}/${format}`))
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown);
    const asked = [
      [
        { role: "system", content: "be brief" },
        { role: "user", content: "hi" },
      ],
      [{ role: "user", content: "add" }],
      [{ role: "user", content: "raw" }],
    ];
    const calls = [{ id: "c1", type: "function", function: { name: "add", arguments: '{"a":1}' } }];
    expect(await lines("openai_ft")).toEqual([
      { messages: [...(asked[0] ?? []), { role: "assistant", content: "ho" }] },
      {
        messages: [...(asked[1] ?? []), { role: "assistant", content: "", tool_calls: calls }],
        tools: [{ type: "function" }],
      },
      { messages: [...(asked[2] ?? []), { role: "assistant", content: "plain" }] },
    ]);
    expect(await lines("openai")).toEqual([
      { input: asked[0], ideal: "ho" },
      { input: asked[1], ideal: "" },
      { input: asked[2], ideal: "plain" },
    ]);
  });
});
