/** Integers past 2^53 keep their digits in what is stored and given back, and are found by them. A graph has JavaScript's numbers. */
import "../../src/runtime/install.ts";
import { type LangGraphRunnableConfig, StateGraph, StateSchema, START, END } from "@langchain/langgraph";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { graphs } from "../../src/deployment.ts";
import { type Caller, newCaller } from "../support/caller.ts";

const State = new StateSchema({ seen: z.record(z.string(), z.unknown()).default({}), n: z.number().optional() });
const number_reader = new StateGraph(State)
  .addNode("read", async ({ n }, config: LangGraphRunnableConfig) => {
    const { context = {}, metadata = {}, configurable = {}, store } = config;
    await store?.put(["of graph"], "own", { large: 2 ** 60 });
    const found = await store?.search(["of graph"], { filter: { large: 2 ** 60 } });
    const types = [context.user, metadata.user, configurable.user, n].map((value) => typeof value);
    return {
      seen: {
        types,
        sum: Number(context.user) + 0,
        found: found?.length,
        item: (await store?.get(["items"], "a"))?.value,
      },
    };
  })
  .addEdge(START, "read")
  .addEdge("read", END)
  .compile();
Object.assign(graphs, { number_reader });

const LARGE = "1234567890123456789";
const NEXT = "1234567890123456788";
/** Past 64 bits, where SQLite has no integer. */
const LONGER = "-123456789012345678901234567890";
const user = `{"user":${LARGE},"deep":{"list":[${LARGE},"${LARGE}",1]},"longer":${LONGER},"small":7}`;
/** The end of the metadata of a run: those of its assistant and its thread come first. */
const METADATA_OF_RUN = `,${user.slice(1)},"multitask_strategy"`;
const ROUNDED = Number(LARGE);

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

/** The bodies are texts: `JSON.stringify` has no such number. */
async function send(method: string, path: string, body?: string): Promise<string> {
  const headers = { "content-type": "application/json" };
  const response = await caller.fetch(path, { method, ...(body !== undefined && { body, headers }) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return text;
}
const post = async (path: string, body: string) => send("POST", path, body);
const idIn = (text: string, name: string) => (JSON.parse(text) as Record<string, string>)[name] ?? "";

describe("an item of the Store", () => {
  const find = async (filter: string) => {
    const body = `{"namespace_prefix":["items"],"filter":${filter}}`;
    return (JSON.parse(await post("/store/items/search", body)) as { items: { key: string }[] }).items.map(
      ({ key }) => key,
    );
  };

  it("keeps the digits, and is found by them", async () => {
    await send("PUT", "/store/items", `{"namespace":["items"],"key":"a","value":${user}}`);
    await send("PUT", "/store/items", `{"namespace":["items"],"key":"b","value":{"user":${NEXT},"longer":${LONGER}1}}`);
    expect(await send("GET", "/store/items?namespace=items&key=a")).toContain(`"value":${user}`);
    expect(await post("/store/items/search", `{"namespace_prefix":["items"]}`)).toContain(`"value":${user}`);
    expect(await find(`{"user":${LARGE}}`)).toEqual(["a"]);
    expect(await find(`{"user":${NEXT}}`)).toEqual(["b"]);
    expect(await find(`{"user":${ROUNDED}}`)).toEqual([]);
    expect(await find(`{"longer":${LONGER}}`)).toEqual(["a"]);
    expect(await find(`{"deep":{"list":[${LARGE}]}}`)).toEqual(["a"]);
    expect(await find(`{"small":7}`)).toEqual(["a"]);
  });

  it("is compared by them", async () => {
    expect(await find(`{"user":{"$gt":${NEXT}}}`)).toEqual(["a"]);
    expect(await find(`{"user":{"$lte":${NEXT}}}`)).toEqual(["b"]);
    expect(await find(`{"user":{"$gt":${LONGER}}}`)).toHaveLength(2);
    expect(await find(`{"user":{"$in":[${LARGE},1]}}`)).toEqual(["a"]);
    expect(await find(`{"user":{"$ne":${LARGE}}}`)).toEqual(["b"]);
  });

  it("has JavaScript's numbers in a graph, which finds what it has put", async () => {
    const { seen } = JSON.parse(await post("/runs/wait", `{"assistant_id":"number_reader","input":{}}`)) as {
      seen: { item: object; found: number };
    };
    expect(seen.item).toMatchObject({ user: ROUNDED, small: 7 });
    expect(seen.found).toBe(1);
  });
});

describe("metadata", () => {
  it("of threads", async () => {
    const created = await post("/threads", `{"metadata":${user}}`);
    expect(created).toContain(`"metadata":${user}`);
    const id = idIn(created, "thread_id");
    expect(await send("GET", `/threads/${id}`)).toContain(`"user":${LARGE}`);
    expect(await post("/threads/search", `{"metadata":{"user":${LARGE}}}`)).toContain(`"user":${LARGE}`);
    expect(await post("/threads/search", `{"metadata":{"user":${NEXT}}}`)).toBe("[]");
    expect(await post("/threads/count", `{"metadata":{"longer":${LONGER}}}`)).toBe("1");
    expect(await send("PATCH", `/threads/${id}`, `{"metadata":{"more":${NEXT}}}`)).toContain(`"more":${NEXT}`);
    expect(await send("GET", `/threads/${id}`)).toContain(`"user":${LARGE}`);
    const copy = await send("POST", `/threads/${id}/copy`);
    expect(copy).toContain(`"user":${LARGE}`);
  });

  it("of assistants and their versions, with config and context", async () => {
    const body = `{"graph_id":"number_reader","metadata":${user},"context":${user},"config":{"metadata":${user}}}`;
    const created = await post("/assistants", body);
    expect(created).toContain(`"metadata":${user}`);
    const id = idIn(created, "assistant_id");
    const text = await send("GET", `/assistants/${id}`);
    expect(text).toContain(`"context":${user}`);
    expect(text.split(LONGER)).toHaveLength(5);
    expect(await post("/assistants/search", `{"metadata":{"user":${LARGE}}}`)).toContain(id);
    expect(await post("/assistants/search", `{"metadata":{"user":${NEXT}}}`)).toBe("[]");
    expect(await post(`/assistants/${id}/versions`, `{"metadata":{"user":${LARGE}}}`)).toContain(`"user":${LARGE}`);
    expect(await send("PATCH", `/assistants/${id}`, `{"name":"other"}`)).toContain(`"metadata":${user}`);
  });

  it("of crons, with what they give their runs", async () => {
    const run = `"assistant_id":"number_reader","schedule":"0 0 1 1 *","context":${user},"input":{}`;
    const created = await post("/runs/crons", `{${run},"metadata":${user}}`);
    expect(created).toContain(`"metadata":${user}`);
    expect(created).toContain(`"context":${user}`);
    expect(await post("/runs/crons/search", `{"metadata":{"user":${LARGE}}}`)).toContain(`"context":${user}`);
    expect(await post("/runs/crons/count", `{"metadata":{"user":${NEXT}}}`)).toBe("0");
  });

  it("of runs, with config and context", async () => {
    const thread = idIn(await post("/threads", "{}"), "thread_id");
    const run = `{"assistant_id":"number_reader","input":{"n":${LARGE}},"metadata":${user},"context":${user}}`;
    const created = await post(`/threads/${thread}/runs`, run);
    expect(created).toContain(METADATA_OF_RUN);
    expect(created).toContain(`"context":${user}`);
    const id = idIn(created, "run_id");
    const { seen } = JSON.parse(await send("GET", `/threads/${thread}/runs/${id}/join`)) as {
      seen: { types: string[]; sum: number };
    };
    expect(seen).toMatchObject({ types: ["number", "number", "number", "number"], sum: ROUNDED });
    expect(await send("GET", `/threads/${thread}/runs/${id}`)).toContain(METADATA_OF_RUN);
    expect(await send("GET", `/threads/${thread}/runs`)).toContain(`"context":${user}`);
  });

  it("of runs that a command starts", async () => {
    const thread = idIn(await post("/threads", "{}"), "thread_id");
    const params = `{"assistant_id":"number_reader","input":{"n":${LARGE}},"metadata":${user}}`;
    expect(await post(`/threads/${thread}/commands`, `{"id":1,"method":"run.start","params":${params}}`)).toContain(
      "run_id",
    );
    expect(await send("GET", `/threads/${thread}/runs`)).toContain(METADATA_OF_RUN);
  });
});
