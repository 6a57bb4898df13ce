import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";
import { type Client, createClient, VERSIONS } from "./clients.ts";

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer();
});
afterAll(() => server.stop());

const say = (content: string) => ({ messages: [{ role: "user", content }] });
interface State {
  messages: { type: string; content: string; id: string }[];
}

async function runTurns(client: Client, turns: string[]): Promise<string> {
  const { thread_id } = await client.threads.create();
  for (const turn of turns) await client.runs.wait(thread_id, "echo", { input: say(turn) });
  return thread_id;
}

describe.each(VERSIONS)("threads of client %s", (version) => {
  let client: Client;
  beforeAll(async () => {
    client = createClient(version, await server.startAnother());
  });
  const talk = async (...turns: string[]) => runTurns(client, turns);

  it("create, get", async () => {
    const threadId = crypto.randomUUID();
    const made = await client.threads.create({ threadId, metadata: { team: "a" }, graphId: "echo", ttl: 5 });
    expect(made).toMatchObject({
      thread_id: threadId,
      status: "idle",
      metadata: { team: "a", graph_id: "echo" },
      values: null,
    });
    await expect(client.threads.create({ threadId })).rejects.toThrow("HTTP 409");
    expect(await client.threads.create({ threadId, ifExists: "do_nothing" })).toEqual(made);
    expect(await client.threads.get(threadId)).toEqual(made);
    await expect(client.threads.get(crypto.randomUUID())).rejects.toThrow("HTTP 404");
    const supersteps = [
      { updates: [{ values: say("one"), asNode: "__start__" }] },
      { updates: [{ values: { messages: [{ role: "assistant", content: "two" }] }, asNode: "echo" }] },
    ];
    const seeded = await client.threads.create({ graphId: "echo", supersteps });
    const state = await client.threads.getState<State>(seeded.thread_id);
    expect(state.values.messages.map((m) => m.content)).toEqual(["one", "two"]);
  });

  it("update", async () => {
    const { thread_id } = await client.threads.create({ metadata: { a: 1 } });
    expect(await client.threads.update(thread_id, { metadata: { b: 2 } })).toMatchObject({ metadata: { a: 1, b: 2 } });
    await expect(client.threads.update(crypto.randomUUID(), { metadata: {} })).rejects.toThrow("HTTP 404");
  });

  it("patchState", async () => {
    const { thread_id } = await client.threads.create({ metadata: { a: 1 } });
    await client.threads.patchState(thread_id, { b: 2 });
    expect((await client.threads.get(thread_id)).metadata).toEqual({ a: 1, b: 2 });
  });

  it("delete", async () => {
    const threadId = await talk("hi");
    await client.threads.delete(threadId);
    await expect(client.threads.get(threadId)).rejects.toThrow("HTTP 404");
    await expect(client.threads.delete(threadId)).rejects.toThrow("HTTP 404");
    expect(await client.threads.search({ limit: 100 })).not.toContainEqual(
      expect.objectContaining({ thread_id: threadId }),
    );
  });

  it("copy", async () => {
    const threadId = await talk("one", "two");
    const copy = await client.threads.copy(threadId);
    const [before, after] = [
      await client.threads.getState<State>(threadId),
      await client.threads.getState<State>(copy.thread_id),
    ];
    expect(after.values).toEqual(before.values);
    expect(after.checkpoint).toEqual({ ...before.checkpoint, thread_id: copy.thread_id });
    expect(copy.metadata).toMatchObject({ thread_id: copy.thread_id, graph_id: "echo" });
    await client.runs.wait(copy.thread_id, "echo", { input: say("three") });
    expect((await client.threads.getState<State>(copy.thread_id)).values.messages).toHaveLength(6);
    expect((await client.threads.getState<State>(threadId)).values.messages).toHaveLength(4);
    expect(await client.threads.getHistory(copy.thread_id, { limit: 100 })).toHaveLength(9);
  });

  it("search, count", async () => {
    const tag = crypto.randomUUID();
    const ids: string[] = [];
    for (const n of [1, 2, 3]) {
      const { thread_id } = await client.threads.create({ metadata: { tag, nested: { n } } });
      ids.push(thread_id);
      await client.runs.wait(thread_id, "echo", { input: say(`word-${n}`) });
    }
    const found = await client.threads.search({ metadata: { tag } });
    expect(found.map((thread) => thread.thread_id)).toEqual(ids.toReversed());
    expect(found[0]).toMatchObject({
      status: "idle",
      values: { messages: [{ content: "word-3" }, { content: "You said: word-3" }] },
    });
    expect(await client.threads.search({ metadata: { tag, nested: { n: 2 } } })).toMatchObject([{ thread_id: ids[1] }]);
    expect(await client.threads.search({ metadata: { tag }, limit: 1, offset: 1 })).toMatchObject([
      { thread_id: ids[1] },
    ]);
    const ascending = await client.threads.search({ metadata: { tag }, sortBy: "created_at", sortOrder: "asc" });
    expect(ascending.map((thread) => thread.thread_id)).toEqual(ids);
    expect(await client.threads.search({ metadata: { tag }, status: "busy" })).toEqual([]);
    if (version === "2.0.0") return;
    expect(await client.threads.count({ metadata: { tag } })).toBe(3);
    expect(await client.threads.search({ ids: ids.slice(0, 1) })).toMatchObject([{ thread_id: ids[0] }]);
    expect(await client.threads.search({ metadata: { tag }, select: ["thread_id", "status"], limit: 1 })).toEqual([
      { thread_id: ids[2], status: "idle" },
    ]);
    const extract = { last: "values.messages[-1].content", none: "values.nothing" };
    const [first] = await client.threads.search({ metadata: { tag }, extract, limit: 1 });
    expect(first).toMatchObject({ extracted: { last: "You said: word-3", none: null } });
    expect(await client.threads.count({ metadata: { tag }, values: { messages: [{ content: "word-1" }] } })).toBe(1);
  });

  it("getState, updateState", async () => {
    const threadId = await talk("one");
    const state = await client.threads.getState<State>(threadId);
    expect(state).toMatchObject({ next: [], tasks: [], checkpoint: { thread_id: threadId, checkpoint_ns: "" } });
    const update = await client.threads.updateState(threadId, { values: say("two"), asNode: "__start__" });
    const after = await client.threads.getState<State>(threadId);
    expect(update).toMatchObject({ checkpoint: after.checkpoint });
    expect(after).toMatchObject({
      next: ["echo"],
      parent_checkpoint: state.checkpoint,
      metadata: { source: "update" },
    });
    expect(after.values.messages.map((m) => m.content)).toEqual(["one", "You said: one", "two"]);
    expect((await client.threads.get(threadId)).status).toBe("interrupted");
    await client.runs.wait(threadId, "echo", { input: null });
    expect((await client.threads.getState<State>(threadId)).values.messages).toHaveLength(4);
    const old = await client.threads.getState<State>(threadId, String(state.checkpoint.checkpoint_id));
    expect(old.values).toEqual(state.values);
    expect((await client.threads.getState<State>(threadId, state.checkpoint)).values).toEqual(state.values);
    const empty = await client.threads.create();
    expect(await client.threads.getState(empty.thread_id)).toMatchObject({
      values: {},
      next: [],
      tasks: [],
      checkpoint: null,
    });
    await expect(client.threads.updateState(empty.thread_id, { values: {} })).rejects.toThrow("HTTP 400");
    await expect(client.threads.getState(threadId, crypto.randomUUID())).rejects.toThrow("HTTP 404");
  });

  it("getHistory", async () => {
    const threadId = await talk("one", "two");
    const all = await client.threads.getHistory<State>(threadId, { limit: 100 });
    expect(all.map((state) => state.metadata?.step)).toEqual([4, 3, 2, 1, 0, -1]);
    expect(all.map((state) => state.values.messages?.length ?? 0)).toEqual([4, 3, 2, 2, 1, 0]);
    for (const [i, state] of all.slice(0, -1).entries())
      expect(state.parent_checkpoint).toEqual(all[i + 1]?.checkpoint);
    expect(await client.threads.getHistory(threadId, { limit: 2 })).toEqual(all.slice(0, 2));
    const before = { configurable: { checkpoint_id: all[2]?.checkpoint.checkpoint_id } };
    expect(await client.threads.getHistory(threadId, { limit: 2, before })).toEqual(all.slice(3, 5));
    const inputs = await client.threads.getHistory(threadId, { limit: 100, metadata: { source: "input" } });
    expect(inputs.map((state) => state.metadata?.step)).toEqual([2, -1]);
  });

  it("joinStream", async () => {
    const { thread_id } = await client.threads.create();
    const events: string[] = [];
    const reading = (async () => {
      for await (const { event, data } of client.threads.joinStream(thread_id, {
        streamMode: ["run_modes", "lifecycle"] as never,
      })) {
        events.push(event);
        if (
          (data as { status?: string } | null)?.status === "run_done" &&
          events.filter((e) => e === "metadata").length === 4
        )
          return;
      }
    })();
    await new Promise((resolve) => setTimeout(resolve, 300));
    for (const turn of ["one", "two"]) await client.runs.wait(thread_id, "echo", { input: say(turn) });
    await reading;
    expect(events.filter((event) => event === "values")).toHaveLength(4);
    expect(events.filter((event) => event === "lifecycle")).toHaveLength(4);
  });
});

// Client 2.0.0 has no such method.
describe("threads of client 1.15.0, beyond 2.0.0", () => {
  it("prune", async () => {
    const client = createClient("1.15.0", await server.startAnother());
    const [one, two] = [await runTurns(client, ["one", "two"]), await runTurns(client, ["hi"])];
    expect(await client.threads.prune([one], { strategy: "keep_latest" })).toEqual({ pruned_count: 1 });
    expect(await client.threads.getHistory(one)).toHaveLength(1);
    expect((await client.threads.getState<State>(one)).values.messages).toHaveLength(4);
    await client.runs.wait(one, "echo", { input: say("three") });
    expect((await client.threads.getState<State>(one)).values.messages).toHaveLength(6);
    expect(await client.threads.prune([two, crypto.randomUUID()])).toEqual({ pruned_count: 1 });
    await expect(client.threads.get(two)).rejects.toThrow("HTTP 404");
  });
});
