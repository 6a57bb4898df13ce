/** Changes of a thread that meet: updates and runs, and requests for the thread of a stateless run. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, expect, it } from "vitest";
import { newCaller } from "../../support/caller.ts";
import { factory } from "../../support/pausing-graphs.ts";
import { get, newThread, say } from "../client.ts";
import { recordIn } from "../../support/thread-tables.ts";

type Json = Record<string, unknown>;

beforeEach(() => {
  factory.work = () => undefined;
});

it("an update and a run that begin together do not lose each other", async () => {
  const caller = await newCaller();
  for (let round = 0; round < 5; round += 1) {
    const thread = await newThread(caller, { metadata: { graph_id: "breakable" } });
    // The update is in the middle of its work when the run comes.
    factory.held = true;
    const update = caller.fetch(`/threads/${thread}/state`, {
      body: { values: { said: ["update"] }, as_node: "first" },
    });
    await expect.poll(() => factory.waiting).toBe(1);
    const run = caller.fetch(`/threads/${thread}/runs/wait`, {
      body: { assistant_id: "breakable", input: { said: ["run"] } },
    });
    const second = caller.fetch(`/threads/${thread}/state`, { body: { values: { said: ["late"] }, as_node: "first" } });
    await new Promise((resolve) => setTimeout(resolve, 20));
    factory.held = false;
    expect((await update).status).toBe(200);
    expect(await (await run).json()).toMatchObject({ said: expect.arrayContaining(["update", "run"]) });
    const { said } = (await get<{ values: { said: string[] } }>(caller, `/threads/${thread}`)).values;
    expect(said.includes("late")).toBe((await second).status === 200);
    expect((await get<{ values: Json }>(caller, `/threads/${thread}/state`)).values).toMatchObject({ said });
  }
});

it("the thread of a stateless run takes nothing else, and nothing is lost in it", async () => {
  const caller = await newCaller();
  const answer = await caller.fetch("/runs/wait", { body: { assistant_id: "echo", input: say("hi") } });
  await answer.text();
  const thread = /runs\/([\w-]+)/.exec(answer.headers.get("content-location") ?? "")?.[1] ?? "";
  const path = `/threads/${thread}`;
  const run = { assistant_id: "echo", input: say("more") };
  for (const [to, method, body] of [
    ["/runs", "POST", run],
    ["/runs", "POST", { ...run, if_not_exists: "create" }],
    ["/runs/wait", "POST", run],
    ["/runs/stream", "POST", run],
    ["/state", "POST", { values: say("x"), as_node: "echo" }],
    ["", "PATCH", { metadata: { a: 1 } }],
  ] as const)
    expect([to, (await caller.fetch(path + to, { method, body })).status]).toEqual([to, 404]);
  expect((await caller.fetch(`${path}/copy`, { method: "POST" })).status).toBe(409);
  expect(await get(caller, `/runs/${thread}/join`)).toMatchObject({ messages: [{}, {}] });
});

it("a copy has a lifetime of its own", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller, { ttl: { strategy: "delete", ttl: 60 } });
  await (
    await caller.fetch(`/threads/${thread}/runs/wait`, { body: { assistant_id: "agent", input: say("count to 20") } })
  ).text();
  const record = async (id: string, change: object = {}) =>
    runInDurableObject(env.THREAD.getByName(`${caller.workspaceId}:${id}`), (_, { storage }) => {
      const changed = { ...recordIn(storage), ...change };
      return changed as { ttl: { expires: number }; compacted?: Json };
    });
  const source = await record(thread);
  expect(source.compacted).toBeDefined();
  await new Promise((resolve) => setTimeout(resolve, 20));
  const { thread_id } = await (
    await caller.fetch(`/threads/${thread}/copy`, { method: "POST" })
  ).json<{ thread_id: string }>();
  const copy = await record(thread_id);
  expect(copy.ttl.expires).toBeGreaterThan(source.ttl.expires);
  expect(copy.compacted).toBeUndefined();
});
