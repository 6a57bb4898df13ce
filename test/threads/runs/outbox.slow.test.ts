/** What a run's end brings about, when a receiver does not answer. */
import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import { Gather } from "../../../src/traces/partition/write/write.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { Tables } from "../../../src/threads/store/tables.ts";
import { failStorage } from "../../support/failing-storage.ts";
import { stubFetch } from "../../support/stub-fetch.ts";
import { newThread, say, stream } from "../client.ts";
import { addRow, changeRow, insertsInto, recordIn, rowsIn } from "../../support/thread-tables.ts";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

it("stores traces while a webhook's receiver hangs, and notifies it in order once it is back", async () => {
  const told: string[] = [];
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  stubFetch(async (_url, { body }) => {
    told.push((JSON.parse(body as string) as { run_id: string }).run_id);
    await released;
    return new Response();
  });
  const caller = await newCaller();
  const thread = await newThread(caller);
  const run = { assistant_id: "echo", input: say("hello"), webhook: "https://outbox.example/run" };
  const runs: string[] = [];
  for (let i = 0; i < 2; i += 1) {
    const answer = await caller.fetch(`/threads/${thread}/runs`, { body: run });
    const { run_id } = await answer.json<{ run_id: string }>();
    runs.push(run_id);
    await (await caller.fetch(`/threads/${thread}/runs/${run_id}/join`)).text();
  }
  const stub = env.THREAD.getByName(`${caller.workspaceId}:${thread}`);
  const left = () =>
    runInDurableObject(stub, (_, { storage }) =>
      rowsIn<{ kind: string }>(storage, "SELECT kind FROM outbox WHERE kind <> 'trace' ORDER BY id").map(
        ({ kind }) => kind,
      ),
    );
  await expect.poll(left, { timeout: 10_000 }).toEqual(["webhook", "webhook"]);
  expect(told).toEqual([runs[0]]);
  release();
  await expect.poll(left, { timeout: 10_000 }).toEqual([]);
  expect(told).toEqual(runs);
});

it("stores all the traces that a restart finds waiting, more than one reading gives", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  vi.stubGlobal("fetch", async () => new Response());
  await stream(caller, thread, { assistant_id: "echo", input: say("hello"), webhook: "https://hooks.example/run" });
  const stub = () => env.THREAD.getByName(`${caller.workspaceId}:${thread}`);
  await runInDurableObject(stub(), async (_, { storage }) => {
    for (let id = 101; id <= 145; id += 1)
      addRow(storage, "outbox", { id, kind: "trace", body: "[]", attempts: 0, due: Date.now() });
    await storage.setAlarm(Date.now() + 60_000);
  });
  await abortAllDurableObjects();
  await runDurableObjectAlarm(stub());
  const left = () => runInDurableObject(stub(), (_, { storage }) => rowsIn(storage, "SELECT id FROM outbox").length);
  expect(await left()).toBe(0);
});

/** How many traces of graphs' runs the workspace has. */
async function countTraces(caller: Caller): Promise<number> {
  const sessions = await caller.fetch("/api/v1/sessions?name=default");
  const [project] = await sessions.json<{ id: string }[]>();
  if (!project) return 0;
  const body = { session: [project.id], is_root: true };
  return (await (await caller.fetch("/api/v1/runs/query", { body })).json<{ runs: object[] }>()).runs.length;
}

/** How a thread's trace is stored in its object, and the number of rows of the outbox. */
async function readTrace(workspaceId: string, thread: string) {
  return runInDurableObject(env.THREAD.getByName(`${workspaceId}:${thread}`), (_, { storage }) => {
    const queued = rowsIn(storage, "SELECT id FROM outbox").length;
    return { kept: recordIn<{ trace?: object[] }>(storage).trace?.length, queued };
  });
}

it("keeps a run's trace in the thread's row until the alarm, without an outbox", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  await stream(caller, thread, { assistant_id: "echo", input: say("hello") });
  expect(await readTrace(caller.workspaceId, thread)).toEqual({ kept: 2, queued: 0 });
  await expect.poll(() => countTraces(caller), { timeout: 10_000 }).toBe(1);
  await runDurableObjectAlarm(env.THREAD.getByName(`${caller.workspaceId}:${thread}`));
  expect(await readTrace(caller.workspaceId, thread)).toEqual({ kept: undefined, queued: 0 });
});

it("writes four rows for a run of a thread that is there", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const stub = env.THREAD.getByName(`${caller.workspaceId}:${thread}`);
  const run = async () => stream(caller, thread, { assistant_id: "echo", input: say("hello") });
  await run();
  await expect.poll(() => countTraces(caller), { timeout: 10_000 }).toBe(1);
  const before = (await stub.figures()).rowsWritten;
  await run();
  // The run twice, its events with the checkpoints, and the thread with the trace.
  expect((await stub.figures()).rowsWritten - before).toBe(4);
});

it("stores the trace that a restart finds in the thread's row", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const stub = () => env.THREAD.getByName(`${caller.workspaceId}:${thread}`);
  await stream(caller, thread, { assistant_id: "echo", input: say("hello") });
  // The state after a process stops before the trace is stored.
  const add = vi.spyOn(Gather.prototype, "add").mockReturnValue(new Promise(() => undefined));
  await stream(caller, thread, { assistant_id: "echo", input: say("again") });
  expect(await readTrace(caller.workspaceId, thread)).toMatchObject({ kept: 2 });
  await abortAllDurableObjects();
  add.mockRestore();
  await runDurableObjectAlarm(stub());
  await expect.poll(() => countTraces(caller), { timeout: 10_000 }).toBe(2);
});

it("moves a trace that cannot be stored to the outbox, and tries again", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const add = vi.spyOn(Gather.prototype, "add").mockRejectedValue(new Error("Not now."));
  await stream(caller, thread, { assistant_id: "echo", input: say("hello") });
  await stream(caller, thread, { assistant_id: "echo", input: say("again") });
  const countQueued = async () => (await readTrace(caller.workspaceId, thread)).queued;
  await expect.poll(countQueued, { timeout: 10_000 }).toBe(2);
  add.mockRestore();
  await expect.poll(() => countTraces(caller), { timeout: 10_000 }).toBe(2);
});

it("keeps a trace for as long as it cannot be stored", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const stub = () => env.THREAD.getByName(`${caller.workspaceId}:${thread}`);
  const add = vi.spyOn(Gather.prototype, "add").mockRejectedValue(new Error("Not now."));
  await stream(caller, thread, { assistant_id: "echo", input: say("hello") });
  await expect.poll(async () => (await readTrace(caller.workspaceId, thread)).queued, { timeout: 10_000 }).toBe(1);
  for (const attempts of [8, 20]) {
    await runInDurableObject(stub(), (_, { storage }) => {
      const [first] = rowsIn<{ id: number }>(storage, "SELECT min(id) AS id FROM outbox");
      changeRow(storage, "outbox", { id: first?.id ?? 0 }, { attempts, due: 0 });
    });
    await abortAllDurableObjects();
    await runDurableObjectAlarm(stub());
    const left = () =>
      runInDurableObject(stub(), (_, { storage }) =>
        rowsIn(storage, "SELECT attempts FROM outbox ORDER BY id LIMIT 1"),
      );
    await expect.poll(left, { timeout: 10_000 }).toEqual([{ attempts: attempts + 1 }]);
  }
  add.mockRestore();
});

it("keeps a trace whose move to the outbox fails", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const stub = env.THREAD.getByName(`${caller.workspaceId}:${thread}`);
  const add = vi.spyOn(Gather.prototype, "add").mockRejectedValue(new Error("Not now."));
  let failures = 0;
  const isMove = (statement: string) => insertsInto("outbox", statement) && (failures += 1) > 0;
  const restore = await runInDurableObject(stub, (_, { storage }) => failStorage(storage.sql, { object: isMove }));
  await stream(caller, thread, { assistant_id: "echo", input: say("hello") });
  await expect.poll(() => failures, { timeout: 10_000 }).toBeGreaterThan(0);
  await runDurableObjectAlarm(stub);
  restore();
  add.mockRestore();
  await expect.poll(() => countTraces(caller), { timeout: 20_000 }).toBe(1);
});

it("keeps an effect whose removal fails, and its long text with it", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const stub = env.THREAD.getByName(`${caller.workspaceId}:${thread}`);
  await runInDurableObject(stub, (_, { storage }) => {
    const tables = new Tables(storage);
    const id = tables.outbox.add("webhook-call", "x".repeat(600_000)) ?? 0;
    const end = failStorage(storage.sql, {
      object: (statement) => statement.startsWith("DELETE FROM thread WHERE kind = 'blobs'"),
    });
    expect(() => tables.outbox.remove(id)).toThrow("SQLITE_IOERR");
    end();
    const listDue = () => tables.outbox.due(Date.now(), ["webhook-call"], 8);
    expect(listDue()).toMatchObject([{ id, body: "x".repeat(600_000) }]);
    tables.outbox.remove(id);
    expect(listDue()).toEqual([]);
    expect(tables.outbox.nextDue()).toBeUndefined();
    expect(rowsIn(storage, "SELECT hash FROM blobs")).toEqual([]);
  });
});
