import { beforeAll, describe, expect, it } from "vitest";
import { graphIds } from "../../../src/agents/assistants/defaults.ts";
import type { Assistant } from "../../../src/agents/assistants/store.ts";
import { type Caller, newCaller } from "../../support/caller.ts";

const graph = graphIds()[0]!;
let caller: Caller;

const METADATA = [
  { name: "Alpha", metadata: { tier: 1, nested: { "a.b": "x", 'q"': null }, list: [1, { k: "v" }, true] } },
  { name: "beta", metadata: { tier: 1, nested: { "a.b": "y" }, list: [] } },
  { name: "ALPHABET", metadata: { tier: true, $eq: "z", "": 0.5 } },
];

beforeAll(async () => {
  caller = await newCaller();
  for (const one of METADATA) {
    await caller.fetch("/assistants", { body: { graph_id: graph, ...one } });
  }
});

async function names(search: object): Promise<string[]> {
  const response = await caller.fetch("/assistants/search", {
    body: { sort_by: "created_at", sort_order: "asc", ...search },
  });
  expect(response.status).toBe(200);
  const found = await response.json<Assistant[]>();
  const counted = await caller.fetch("/assistants/count", { body: search });
  expect(await counted.json()).toBe(found.length);
  return found.map(({ name }) => name);
}

describe("searching assistants", () => {
  it.each<[object, string[]]>([
    [{ tier: 1 }, ["Alpha", "beta"]],
    [{ tier: true }, ["ALPHABET"]],
    [{ nested: { "a.b": "x" } }, ["Alpha"]],
    [{ nested: { 'q"': null } }, ["Alpha"]],
    [{ nested: {} }, ["Alpha", "beta"]],
    [{ list: [{ k: "v" }] }, ["Alpha"]],
    [{ list: [true, 1] }, ["Alpha"]],
    [{ list: [] }, ["Alpha", "beta"]],
    [{ list: [2] }, []],
    [{ $eq: "z" }, ["ALPHABET"]],
    [{ "": 0.5 }, ["ALPHABET"]],
    [{ tier: "1" }, []],
    [{ "' OR 1 --": "x" }, []],
  ])("by metadata %j finds %j", async (metadata, expected) => {
    expect(await names({ metadata })).toEqual(expected);
  });

  it("by name, in upper or lower case, and by graph", async () => {
    expect(await names({ name: "alpha" })).toEqual(["Alpha", "ALPHABET"]);
    expect(await names({ name: "%" })).toEqual([]);
    expect(await names({ graph_id: "no-such-graph" })).toEqual([]);
  });

  it("lists every graph's default assistant, also in a workspace where nothing was called yet", async () => {
    const fresh = await newCaller();
    const found = await (await fresh.fetch("/assistants/search", { body: { limit: 1000 } })).json<Assistant[]>();
    expect(found.map(({ graph_id }) => graph_id).toSorted()).toEqual(graphIds().toSorted());
  });

  it("pages, sorts and selects", async () => {
    const search = { metadata: { tier: 1 }, sort_by: "name", sort_order: "ASC", limit: 1, select: ["name", "version"] };
    const first = await caller.fetch("/assistants/search", { body: search });
    expect(await first.json()).toEqual([{ name: "Alpha", version: 1 }]);
    expect(first.headers.get("x-pagination-next")).toBe("1");
    expect(first.headers.get("x-pagination-total")).toBe("2");
    const second = await caller.fetch("/assistants/search", { body: { ...search, offset: 1 } });
    expect(await second.json()).toEqual([{ name: "beta", version: 1 }]);
    expect(second.headers.get("x-pagination-next")).toBeNull();
  });
});
