import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { database } from "../../../src/db/client.ts";
import { deleteExpired } from "../../../src/agents/memory/store.ts";
import { type Caller, newCaller } from "../../support/caller.ts";

interface Item {
  namespace: string[];
  key: string;
  value: Record<string, unknown>;
  created_at: string;
  updated_at: string;
  score?: number;
}

let caller: Caller;
beforeEach(async () => {
  caller = await newCaller();
});
afterEach(() => {
  vi.useRealTimers();
});

async function put(namespace: string[], key: string, value: object, more: object = {}): Promise<void> {
  const response = await caller.fetch("/store/items", { method: "PUT", body: { namespace, key, value, ...more } });
  expect(response.status).toBe(204);
}
async function get(namespace: string, key: string, more = ""): Promise<Item | null> {
  const response = await caller.fetch(`/store/items?namespace=${namespace}&key=${encodeURIComponent(key)}${more}`);
  expect(response.status).toBe(200);
  return response.json();
}
async function search(namespace_prefix: string[], more: object = {}): Promise<Item[]> {
  const response = await caller.fetch("/store/items/search", { body: { namespace_prefix, ...more } });
  expect(response.status).toBe(200);
  return (await response.json<{ items: Item[] }>()).items;
}
const keys = (items: Item[]) => items.map(({ key }) => key).toSorted();

describe("an item", () => {
  it("is written, replaced, read and deleted", async () => {
    await put(["users", "1"], "profile", { name: "Ada" });
    const first = await get("users.1", "profile");
    expect(first).toMatchObject({ namespace: ["users", "1"], key: "profile", value: { name: "Ada" } });
    await put(["users", "1"], "profile", { name: "Grace" });
    const second = await get("users.1", "profile");
    expect(second).toMatchObject({ value: { name: "Grace" }, created_at: first?.created_at });
    expect(await get("users.2", "profile")).toBeNull();
    const gone = await caller.fetch("/store/items", {
      method: "DELETE",
      body: { namespace: ["users", "1"], key: "profile" },
    });
    expect(gone.status).toBe(204);
    expect(await get("users.1", "profile")).toBeNull();
  });

  it("is of one workspace only", async () => {
    await put(["shared"], "k", { text: "secret words" });
    const other = await newCaller();
    expect(await (await other.fetch("/store/items?namespace=shared&key=k")).json()).toBeNull();
    for (const query of [undefined, "secret words"]) {
      const found = await other.fetch("/store/items/search", { body: { namespace_prefix: [], query } });
      expect(await found.json()).toEqual({ items: [] });
    }
    expect(await (await other.fetch("/store/namespaces", { body: {} })).json()).toEqual({ namespaces: [] });
    await other.fetch("/store/items", { method: "DELETE", body: { namespace: ["shared"], key: "k" } });
    expect(await get("shared", "k")).not.toBeNull();
  });

  it("ends with its time to live, which a read puts off", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    await put(["t"], "short", { n: 1 }, { ttl: 1 });
    await put(["t"], "kept", { n: 2 }, { ttl: 1 });
    await put(["t"], "forever", { n: 3 });
    vi.advanceTimersByTime(50_000);
    expect(await get("t", "short", "&refresh_ttl=false")).not.toBeNull();
    expect(await get("t", "kept")).not.toBeNull();
    vi.advanceTimersByTime(50_000);
    expect(await get("t", "short")).toBeNull();
    expect(keys(await search(["t"], { refresh_ttl: false }))).toEqual(["forever", "kept"]);
    expect(await deleteExpired(database(env.DB), Date.now())).toBe(1);
    vi.advanceTimersByTime(50_000);
    expect(keys(await search(["t"]))).toEqual(["forever"]);
    expect(keys(await search([], { query: "2" }))).toEqual([]);
  });
});

describe("searching items", () => {
  beforeEach(async () => {
    await put(["docs", "a"], "one", {
      title: "Running shoes",
      price: 10,
      tags: ["x"],
      on: "2026-01-01",
      nested: { deep: "café" },
    });
    await put(["docs", "b"], "two", { title: "A long walk", price: 20.5, live: true, on: "2026-06-01" });
    await put(["docsother"], "three", { title: "run away", price: "10" });
  });

  it("keeps to the namespace prefix, by label", async () => {
    expect(keys(await search(["docs"]))).toEqual(["one", "two"]);
    expect(keys(await search(["docs", "a"]))).toEqual(["one"]);
    expect(keys(await search([]))).toEqual(["one", "three", "two"]);
    expect(await search([], { limit: 1, offset: 1 })).toHaveLength(1);
  });

  it.each<[object, string[]]>([
    [{ price: 10 }, ["one"]],
    [{ price: "10" }, ["three"]],
    [{ price: { $gt: 10 } }, ["two"]],
    [{ price: { $gte: 10, $lt: 20 } }, ["one"]],
    [{ price: { $lte: 10 } }, ["one"]],
    [{ on: { $gt: "2026-03" } }, ["two"]],
    [{ live: { $eq: true } }, ["two"]],
    [{ live: { $ne: true } }, ["one", "three"]],
    [{ price: { $in: [10, "10"] } }, ["one", "three"]],
    [{ price: { $nin: [10] } }, ["three", "two"]],
    [{ price: { $in: [] } }, []],
    [{ tags: ["x"] }, ["one"]],
    [{ nested: { deep: "café" } }, ["one"]],
    [{ "x' OR 1=1 --": 1 }, []],
  ])("filters by %j", async (filter, expected) => {
    expect(keys(await search([], { filter }))).toEqual(expected);
  });

  it("ranks by words in all their forms", async () => {
    const found = await search([], { query: "who runs?" });
    expect(keys(found)).toEqual(["one", "three"]);
    expect(found[0]?.score).toBeGreaterThan(0);
    expect(keys(await search(["docs"], { query: "run" }))).toEqual(["one"]);
    expect(keys(await search([], { query: "cafe" }))).toEqual(["one"]);
    expect(keys(await search([], { query: 'NEAR("(*' }))).toEqual([]);
    expect(await search([], { query: "!?" })).toHaveLength(3);
  });

  it("searches what `index` names", async () => {
    await put(["ix"], "none", { text: "zebra" }, { index: false });
    await put(["ix"], "some", { text: "zebra", parts: [{ t: "gnu" }, { t: "yak" }] }, { index: ["parts[*].t"] });
    expect(keys(await search(["ix"], { query: "zebra" }))).toEqual([]);
    expect(keys(await search(["ix"], { query: "yak" }))).toEqual(["some"]);
    await put(["ix"], "some", { text: "zebra" });
    expect(keys(await search(["ix"], { query: "yak zebra" }))).toEqual(["some"]);
    expect(keys(await search(["ix"], { query: "yak" }))).toEqual([]);
  });
});

describe("namespaces", () => {
  beforeEach(async () => {
    for (const namespace of [["a", "b", "c"], ["a", "b", "d"], ["a", "x"], ["ab"], ["z", "c"]])
      await put(namespace, "k", {});
  });

  it.each<[object, string[]]>([
    [{}, ["a.b.c", "a.b.d", "a.x", "ab", "z.c"]],
    [{ prefix: ["a"] }, ["a.b.c", "a.b.d", "a.x"]],
    [{ suffix: ["c"] }, ["a.b.c", "z.c"]],
    [{ prefix: ["a", "*", "d"] }, ["a.b.d"]],
    [{ prefix: ["*", "c"] }, ["z.c"]],
    [{ max_depth: 2 }, ["a.b", "a.x", "ab", "z.c"]],
    [{ max_depth: 1, limit: 1, offset: 1 }, ["ab"]],
  ])("%j", async (body, expected) => {
    const response = await caller.fetch("/store/namespaces", { body });
    const { namespaces } = await response.json<{ namespaces: string[][] }>();
    expect(namespaces.map((one) => one.join("."))).toEqual(expected);
  });
});
