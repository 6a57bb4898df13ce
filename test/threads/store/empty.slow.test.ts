/** An object that holds no thread stores nothing: reads make no tables, and a deletion leaves none. */
import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import { newThread, say, stream } from "../client.ts";
import { changeRecord, recordIn } from "../../support/thread-tables.ts";

async function readStored(caller: Caller, thread: string) {
  return runInDurableObject(env.THREAD.getByName(`${caller.workspaceId}:${thread}`), async (_, { storage }) => ({
    tables: storage.sql
      .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'")
      .toArray()
      .map(({ name }) => name),
    alarm: await storage.getAlarm(),
  }));
}

const NOTHING = { tables: [], alarm: null };

it("reads of a thread that does not exist store nothing", async () => {
  const caller = await newCaller();
  const id = crypto.randomUUID();
  const run = crypto.randomUUID();
  const paths = [
    "",
    "/state",
    "/history",
    "/runs",
    `/runs/${run}`,
    `/runs/${run}/join`,
    `/runs/${run}/stream`,
    "/storage",
  ];
  for (const path of paths) expect((await caller.fetch(`/threads/${id}${path}`)).status).toBe(404);
  expect((await caller.fetch(`/threads/${id}`, { method: "DELETE" })).status).toBe(404);
  expect((await caller.fetch(`/threads/${id}`, { method: "PATCH", body: { metadata: {} } })).status).toBe(404);
  expect((await caller.fetch(`/threads/${id}/copy`, { method: "POST" })).status).toBe(409);
  const runOn = { assistant_id: "echo", input: say("hi") };
  expect((await caller.fetch(`/threads/${id}/runs`, { body: runOn })).status).toBe(404);
  expect(await readStored(caller, id)).toEqual(NOTHING);
});

it("a deleted thread leaves nothing, also after its object was lost", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  await stream(caller, thread, { assistant_id: "echo", input: say("hi") });
  expect((await readStored(caller, thread)).tables).toEqual(["thread"]);
  await caller.fetch(`/threads/${thread}`, { method: "DELETE" });
  // The run's trace leaves with the alarm.
  const left = async () => {
    await runDurableObjectAlarm(env.THREAD.getByName(`${caller.workspaceId}:${thread}`));
    return readStored(caller, thread);
  };
  await expect.poll(left, { timeout: 10_000 }).toEqual(NOTHING);
  await abortAllDurableObjects();
  expect((await caller.fetch(`/threads/${thread}`)).status).toBe(404);
  expect(await readStored(caller, thread)).toEqual(NOTHING);
});

it("the thread of a stateless run leaves nothing", async () => {
  const caller = await newCaller();
  const answer = await caller.fetch("/runs/wait", { body: { assistant_id: "echo", input: say("hi") } });
  const id = answer.headers.get("location")?.split("/")[2] ?? "";
  await answer.text();
  expect((await readStored(caller, id)).tables).toEqual(["thread"]);
  const stub = env.THREAD.getByName(`${caller.workspaceId}:${id}`);
  const record = () => runInDurableObject(stub, (_, { storage }) => recordIn(storage));
  // The trace leaves with the alarm, before the thread does.
  await expect.poll(record, { timeout: 10_000 }).not.toHaveProperty("trace");
  await runInDurableObject(stub, (_, { storage }) => {
    changeRecord(storage, { temporary: { until: 1 } });
  });
  await abortAllDurableObjects();
  await runDurableObjectAlarm(env.THREAD.getByName(`${caller.workspaceId}:${id}`));
  expect(await readStored(caller, id)).toEqual(NOTHING);
});
