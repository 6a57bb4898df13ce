import { env } from "cloudflare:workers";
import { START, StateGraph, StateSchema } from "@langchain/langgraph";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { storeFor } from "../../../src/agents/memory/langgraph.ts";
import { type Caller, newCaller } from "../../support/caller.ts";

let caller: Caller;
beforeEach(async () => {
  caller = await newCaller();
});
afterEach(() => vi.restoreAllMocks());

const State = new StateSchema({ seen: z.string().optional() });

describe("a graph's store", () => {
  it("holds the items of the HTTP API", async () => {
    const graph = new StateGraph(State)
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

  it("does not look for calls while a node waits", async () => {
    let count = 0;
    const { setTimeout: set } = globalThis;
    const countTimer = (...args: Parameters<typeof set>) => {
      if (new Error().stack?.includes("processBatchQueue")) count += 1;
      return set(...args);
    };
    const graph = new StateGraph(State)
      .addNode("wait", async () => {
        vi.spyOn(globalThis, "setTimeout").mockImplementation(countTimer);
        await scheduler.wait(100);
        return {};
      })
      .addEdge(START, "wait")
      .compile({ store: storeFor(env, caller.workspaceId) });
    await graph.invoke({});
    expect(count).toBe(0);
  });

  it("gets the calls of parallel nodes in one batch, and those that nobody awaits before the run ends", async () => {
    const store = storeFor(env, caller.workspaceId);
    const batch = vi.spyOn(store, "batch");
    const write = (key: string) => (_state: unknown, runtime: { store?: typeof store }) => {
      void runtime.store?.put(["users", "1"], key, { key });
      return {};
    };
    const graph = new StateGraph(State)
      .addNode("one", write("one") as never)
      .addNode("two", write("two") as never)
      .addEdge(START, "one")
      .addEdge(START, "two")
      .compile({ store });
    await graph.invoke({});
    expect(batch.mock.calls.map(([operations]) => operations.length)).toEqual([2]);
    expect((await store.search(["users"])).map(({ key }) => key).toSorted()).toEqual(["one", "two"]);
  });

  it("answers every call of a failed batch with its error, and the next batch by itself", async () => {
    const store = storeFor(env, caller.workspaceId);
    vi.spyOn(store, "batch").mockRejectedValueOnce(new Error("no storage"));
    let outcomes: PromiseSettledResult<unknown>[] = [];
    const graph = new StateGraph(State)
      .addNode("write", async (_state, runtime) => {
        const write = () => runtime.store?.put(["users", "1"], "name", { name: "Ada" });
        outcomes = [...(await Promise.allSettled([write(), write()])), ...(await Promise.allSettled([write()]))];
        return {};
      })
      .addEdge(START, "write")
      .compile({ store });
    await graph.invoke({});
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled"]);
  });

  it("writes nothing after the end of the run", async () => {
    const store = storeFor(env, caller.workspaceId);
    const batch = vi.spyOn(store, "batch");
    let late: (() => void) | undefined;
    const graph = new StateGraph(State)
      .addNode("end", (_state, runtime) => {
        late = () => void runtime.store?.put(["users", "1"], "late", {});
        return {};
      })
      .addEdge(START, "end")
      .compile({ store });
    await graph.invoke({});
    late?.();
    await scheduler.wait(20);
    expect(batch).not.toHaveBeenCalled();
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
