/** Runs that wait for their moment (`after_seconds`), beside everything that a thread does in the meantime. */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { type Caller, newCaller } from "../support/caller.ts";
import { get, newThread, say, stream } from "./client.ts";

const HOUR = 3_600;

interface Run {
  run_id: string;
  status: string;
}

const objectOf = ({ workspaceId }: Caller, thread: string) => env.THREAD.getByName(`${workspaceId}:${thread}`);

async function start(caller: Caller, thread: string, more: object = {}): Promise<Run> {
  const body = { assistant_id: "echo", input: say("hi"), ...more };
  return (await caller.fetch(`/threads/${thread}/runs`, { body })).json<Run>();
}

const textsOf = async (caller: Caller, thread: string) => {
  const { values } = await get<{ values: { messages: { content: string }[] } }>(caller, `/threads/${thread}`);
  return values.messages.map(({ content }) => content);
};

const alarmOf = (caller: Caller, thread: string) =>
  runInDurableObject(objectOf(caller, thread), (_, { storage }) => storage.getAlarm());

it("delay no other run and no update, and leave the thread at rest", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const late = await start(caller, thread, { after_seconds: HOUR, input: say("late") });
  expect(await get(caller, `/threads/${thread}`)).toMatchObject({ status: "idle" });

  const now = await caller.fetch(`/threads/${thread}/runs/wait`, { body: { assistant_id: "echo", input: say("now") } });
  expect(await now.json()).toMatchObject({ messages: [{ content: "now" }, { content: "You said: now" }] });
  const update = { values: { messages: [{ role: "user", content: "noted" }] }, as_node: "echo" };
  expect((await caller.fetch(`/threads/${thread}/state`, { body: update })).status).toBe(200);
  expect(await textsOf(caller, thread)).toEqual(["now", "You said: now", "noted"]);
  expect(await get(caller, `/threads/${thread}`)).toMatchObject({ status: "idle" });
  expect(await get(caller, `/threads/${thread}/runs/${late.run_id}`)).toMatchObject({ status: "pending" });
  const search = async () => (await caller.fetch("/threads/search", { body: { ids: [thread] } })).json();
  await expect.poll(search).toMatchObject([{ thread_id: thread, status: "idle" }]);
});

it("wake their thread once, at their moment", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const due = Date.now() + HOUR * 1_000;
  await start(caller, thread, { after_seconds: HOUR });
  await (
    await caller.fetch(`/threads/${thread}/runs/wait`, { body: { assistant_id: "echo", input: say("now") } })
  ).text();
  // Alarms of the work that is done come first: each sets the next one.
  const alarm = async () => {
    await runDurableObjectAlarm(objectOf(caller, thread));
    return alarmOf(caller, thread);
  };
  await expect.poll(alarm).toBeGreaterThan(due - 10_000);
  expect(await alarm()).toBeLessThan(due + 10_000);
});

it("run in the order in which they are due", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const runs = [
    await start(caller, thread, { after_seconds: 2, input: say("third") }),
    await start(caller, thread, { after_seconds: 1, input: say("second") }),
    await start(caller, thread, { input: say("first") }),
  ];
  for (const { run_id } of runs) await (await caller.fetch(`/threads/${thread}/runs/${run_id}/join`)).text();
  expect((await textsOf(caller, thread)).filter((text) => !text.startsWith("You said"))).toEqual([
    "first",
    "second",
    "third",
  ]);
});

it("count for the multitask strategies", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const late = await start(caller, thread, { after_seconds: HOUR });
  const refused = { assistant_id: "echo", input: say("no"), multitask_strategy: "reject" };
  expect((await caller.fetch(`/threads/${thread}/runs`, { body: refused })).status).toBe(409);
  // A later request replaces the one that waits: the usual way to debounce.
  const next = await start(caller, thread, { after_seconds: HOUR, multitask_strategy: "rollback" });
  expect(await get<Run[]>(caller, `/threads/${thread}/runs`)).toMatchObject([
    { run_id: next.run_id, status: "pending" },
  ]);
  expect((await caller.fetch(`/threads/${thread}/runs/${late.run_id}`)).status).toBe(404);
});

it("are not deleted with their thread by its TTL", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller, { ttl: { strategy: "delete", ttl: 0 } });
  const late = await start(caller, thread, { after_seconds: 2 });
  await runDurableObjectAlarm(objectOf(caller, thread));
  const path = `/threads/${thread}/runs/${late.run_id}`;
  expect(await get(caller, path)).toMatchObject({ status: "pending" });
  expect(await get(caller, `${path}/join`)).toMatchObject({ messages: [{ content: "hi" }, {}] });
  const gone = async () => (await caller.fetch(`/threads/${thread}`)).status;
  await expect.poll(gone, { timeout: 10_000 }).toBe(404);
});

it.each(["interrupt", "rollback"])(
  "are replaced by a run whose stream has all of its events (%s)",
  async (strategy) => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    await start(caller, thread, { after_seconds: HOUR });
    const body = { assistant_id: "echo", input: say("now"), multitask_strategy: strategy };
    const frames = await stream(caller, thread, body);
    expect(frames.map(({ event }) => event)).toEqual(["metadata", "values", "values"]);
    expect(frames.filter(({ event }) => event === "metadata")).toMatchObject([{ data: { attempt: 1 } }]);
  },
);
