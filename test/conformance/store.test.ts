import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";
import { type Client, createClient, VERSIONS } from "./clients.ts";

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer();
});
afterAll(() => server.stop());

describe.each(VERSIONS)("the store of client %s", (version) => {
  let store: Client["store"];
  beforeAll(async () => {
    store = createClient(version, await server.startAnother()).store;
  });

  it("putItem, getItem, deleteItem", async () => {
    await store.putItem(["users", "1"], "likes", { food: "bread" });
    const item = await store.getItem(["users", "1"], "likes");
    expect(item).toMatchObject({ namespace: ["users", "1"], key: "likes", value: { food: "bread" } });
    expect(item?.createdAt).toBe((item as unknown as { created_at: string }).created_at);
    await store.putItem(["users", "1"], "likes", { food: "cake" }, { index: ["food"], ttl: 10 });
    expect(await store.getItem(["users", "1"], "likes", { refreshTtl: true })).toMatchObject({
      value: { food: "cake" },
    });
    await store.deleteItem(["users", "1"], "likes");
    expect(await store.getItem(["users", "1"], "likes")).toBeNull();
    await store.deleteItem(["users", "1"], "likes");
  });

  it("searchItems", async () => {
    await store.putItem(["notes", "a"], "1", { text: "the weather in Paris", stars: 3 });
    await store.putItem(["notes", "b"], "2", { text: "a poem about rivers", stars: 5 });
    const keys = async (options: Parameters<typeof store.searchItems>[1]) =>
      (await store.searchItems(["notes"], options)).items.map(({ key }) => key);
    expect(await keys({})).toEqual(["2", "1"]);
    expect(await keys({ filter: { stars: { $gte: 4 } } })).toEqual(["2"]);
    expect(await keys({ filter: { stars: 3 } })).toEqual(["1"]);
    expect(await keys({ query: "river" })).toEqual(["2"]);
    expect(await keys({ limit: 1, offset: 1 })).toEqual(["1"]);
    const { items } = await store.searchItems(["notes"], { query: "Paris" });
    expect((items[0] as { score?: number }).score).toBeGreaterThan(0);
  });

  it("listNamespaces", async () => {
    await store.putItem(["x", "y", "z"], "k", {});
    await store.putItem(["x", "w", "z"], "k", {});
    expect(await store.listNamespaces({ prefix: ["x"] })).toEqual({
      namespaces: [
        ["x", "w", "z"],
        ["x", "y", "z"],
      ],
    });
    expect(await store.listNamespaces({ suffix: ["y", "z"] })).toEqual({ namespaces: [["x", "y", "z"]] });
    expect(await store.listNamespaces({ prefix: ["x"], maxDepth: 1, limit: 5, offset: 0 })).toEqual({
      namespaces: [["x"]],
    });
  });
});
