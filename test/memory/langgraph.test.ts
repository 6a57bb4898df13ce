import { env } from "cloudflare:workers";
import { START, StateGraph, StateSchema } from "@langchain/langgraph";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { storeFor } from "../../src/memory/langgraph.ts";
import { type Caller, newCaller } from "../support/caller.ts";

let caller: Caller;
beforeEach(async () => {
  caller = await newCaller();
});

describe("a graph's store", () => {
  it("holds the items of the HTTP API", async () => {
    const graph = new StateGraph(new StateSchema({ seen: z.string().optional() }))
      .addNode("remember", async (_state, runtime) => {
        const item = await runtime.store?.get(["users", "1"], "name");
        await runtime.store?.put(["users", "1"], "greeted", { at: "noon" });
        return { seen: String(item?.value.name) };
      })
      .addEdge(START, "remember")
      .compile({ store: storeFor(env, caller.workspaceId) });
    const body = { namespace: ["users", "1"], key: "name", value: { name: "Ada" } };
    await caller.fetch("/store/items", { method: "PUT", body });

    expect(await graph.invoke({})).toEqual({ seen: "Ada" });
    const greeted = await caller.fetch("/store/items?namespace=users.1&key=greeted");
    expect(await greeted.json()).toMatchObject({ value: { at: "noon" } });
  });

  it("does a batch's reads, then its writes", async () => {
    const store = storeFor(env, caller.workspaceId);
    await store.put(["a", "b"], "k", { n: 1, text: "blue whale" });
    const [got, , found, spaces] = await store.batch([
      { namespace: ["a", "b"], key: "k" },
      { namespace: ["a", "c"], key: "k2", value: { n: 2 } },
      { namespacePrefix: ["a"], filter: { n: { $gte: 1 } }, query: "whales" },
      { matchConditions: [{ matchType: "prefix", path: ["a"] }], limit: 10, offset: 0 },
    ]);
    expect(got).toMatchObject({ value: { n: 1 }, createdAt: expect.any(Date) });
    expect(found).toMatchObject([{ key: "k", score: expect.any(Number) }]);
    expect(spaces).toEqual([["a", "b"]]);
    expect(await store.listNamespaces({ prefix: ["a"] })).toEqual([
      ["a", "b"],
      ["a", "c"],
    ]);
    await store.delete(["a", "b"], "k");
    expect(await store.get(["a", "b"], "k")).toBeNull();
    expect(await store.search(["a"])).toHaveLength(1);
  });
});
