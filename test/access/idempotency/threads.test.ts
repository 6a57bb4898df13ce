/** State updates and threads that are made under an Idempotency-Key: a request whose answer was lost is repeated, and made once. */
import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, expect, it, vi } from "vitest";
import { newCaller } from "../../support/caller.ts";
import { GatedThread, textsOf } from "../../support/gated-graphs.ts";
import { RemoteThread } from "../../../src/threads/remote.ts";

type Json = Record<string, unknown>;

afterEach(() => {
  vi.restoreAllMocks();
});

/** The next call of this method is carried out, and its answer is lost at every try. */
function loseAnswer(method: "updateState" | "create"): void {
  const real = RemoteThread.prototype[method] as (...args: unknown[]) => Promise<unknown>;
  vi.spyOn(RemoteThread.prototype, method).mockImplementationOnce(async function (this: unknown, ...args: unknown[]) {
    await real.apply(this, args);
    throw Object.assign(new Error("lost"), { durableObjectReset: true });
  });
}

const say = (content: string) => ({ messages: [{ role: "user", content }] });

it.each(["gatedPlain", "gatedDelta"] as const)(
  "%s: a state update is made once, also when the object restarts",
  async (graph) => {
    const thread = await GatedThread.make(graph);
    await thread.wait("one");
    const headers = { "idempotency-key": crypto.randomUUID() };
    const update = async () => thread.call<Json>("state", { body: { values: say("update") }, headers });
    loseAnswer("updateState");
    expect((await update()).status).toBe(503);
    await abortAllDurableObjects();
    const again = await update();
    expect(again.status).toBe(200);
    expect(await thread.state()).toEqual(["one", "seen: one", "update"]);
    const { checkpoint } = (await thread.call<{ checkpoint: Json }>("state")).body;
    expect(again.body.checkpoint).toEqual(checkpoint);
    expect(await thread.call("state", { body: { values: say("update") }, headers })).toEqual(again);
    // Another key is another update.
    await thread.call("state", {
      body: { values: say("update") },
      headers: { "idempotency-key": crypto.randomUUID() },
    });
    expect(await thread.state()).toEqual(["one", "seen: one", "update", "update"]);
  },
);

it("a state update is found while a later run is in flight, and when its checkpoint is pruned", async () => {
  const thread = await GatedThread.make("gatedPlain");
  await thread.wait("one");
  const keys = [crypto.randomUUID(), crypto.randomUUID()];
  const update = async (n: number) => {
    const headers = { "idempotency-key": keys[n] ?? "" };
    return (await thread.call("state", { body: { values: say(`update ${n}`) }, headers })).status;
  };
  loseAnswer("updateState");
  expect(await update(0)).toBe(503);
  thread.close("close");
  const run = await thread.run("two");
  await thread.reaches("close", 2);
  expect(await update(0)).toBe(200);
  thread.open("close");
  await thread.join(run);
  loseAnswer("updateState");
  expect(await update(1)).toBe(503);
  await thread.wait("three");
  const body = { thread_ids: [thread.id], strategy: "keep_latest" };
  expect((await thread.caller.fetch("/threads/prune", { body })).status).toBe(200);
  const all = await thread.state();
  expect(await update(1)).toBe(200);
  expect(await thread.state()).toEqual(all);
});

it.each([false, true])("a thread with an id of the client's is made once (with states: %s)", async (hasStates) => {
  const caller = await newCaller();
  const thread_id = crypto.randomUUID();
  const states = { supersteps: [{ updates: [{ values: say("first"), as_node: "close" }] }] };
  const body = { thread_id, metadata: { graph_id: "gatedPlain" }, ...(hasStates && states) };
  const make = async (key: string) => caller.fetch("/threads", { body, headers: { "idempotency-key": key } });
  const key = crypto.randomUUID();
  loseAnswer("create");
  expect((await make(key)).status).toBe(503);
  await abortAllDurableObjects();
  const again = await make(key);
  expect(again.status).toBe(200);
  expect(await again.json()).toMatchObject({ thread_id });
  const { values } = await (await caller.fetch(`/threads/${thread_id}/state`)).json<{ values: object }>();
  expect(textsOf(values)).toEqual(hasStates ? ["first"] : []);
  expect((await make(crypto.randomUUID())).status).toBe(409);
});

it("a thread whose first states the process did not come to make is made whole by the repeated request", async () => {
  const caller = await newCaller();
  const thread_id = crypto.randomUUID();
  const supersteps = ["first", "second"].map((text) => ({ updates: [{ values: say(text), as_node: "close" }] }));
  const body = { thread_id, metadata: { graph_id: "gatedPlain" }, supersteps };
  const make = async () => caller.fetch("/threads", { body, headers: { "idempotency-key": "k" } });
  const first = make();
  await abortAllDurableObjects();
  expect([200, 503]).toContain((await first).status);
  loseAnswer("create");
  expect([200, 503]).toContain((await make()).status);
  expect((await make()).status).toBe(200);
  const { values } = await (await caller.fetch(`/threads/${thread_id}/state`)).json<{ values: object }>();
  expect(textsOf(values)).toEqual(["first", "second"]);
});

it("a thread that was deleted is not made again by a repeated request", async () => {
  const caller = await newCaller();
  const make = async () => caller.fetch("/threads", { body: {}, headers: { "idempotency-key": "k" } });
  loseAnswer("create");
  expect((await make()).status).toBe(503);
  const [found] = await (await caller.fetch("/threads/search", { body: {} })).json<{ thread_id: string }[]>();
  expect((await caller.fetch(`/threads/${found?.thread_id}`, { method: "DELETE" })).status).toBe(204);
  const again = await make();
  expect([again.status, (await again.json<{ code: string }>()).code]).toEqual([409, "thread_deleted"]);
});
