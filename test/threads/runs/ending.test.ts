/** How the last run of a thread ended is in the thread's own row until the next run ends. */
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { Tables } from "../../../src/threads/store/tables.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { failStorage } from "../../support/failing-storage.ts";
import { rowsIn } from "../../support/thread-tables.ts";
import { get, newThread, say, stream } from "../client.ts";

const getStub = (caller: Caller, thread: string) => env.THREAD.getByName(`${caller.workspaceId}:${thread}`);

const statuses = (storage: DurableObjectStorage) =>
  rowsIn<{ status: string }>(storage, "SELECT status FROM runs ORDER BY created").map(({ status }) => status);

it("is what the API says of the run, also after a restart", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const readHeld = () => runInDurableObject(getStub(caller, thread), (_, { storage }) => statuses(storage));
  const countListed = async (status: string) =>
    (await get<{ status: string }[]>(caller, `/threads/${thread}/runs?status=${status}`)).length;
  await stream(caller, thread, { assistant_id: "echo", input: say("one") });
  expect(await readHeld()).toEqual(["running"]);
  for (const isRestarted of [false, true]) {
    if (isRestarted) await abortAllDurableObjects();
    expect([await countListed("success"), await countListed("running"), await countListed("pending")]).toEqual([
      1, 0, 0,
    ]);
    const runs = await get<{ run_id: string; status: string }[]>(caller, `/threads/${thread}/runs`);
    expect(runs.map(({ status }) => status)).toEqual(["success"]);
    expect(await get(caller, `/threads/${thread}/runs/${runs[0]?.run_id}`)).toMatchObject({ status: "success" });
    expect(await get(caller, `/threads/${thread}`)).toMatchObject({ status: "idle" });
  }
  await stream(caller, thread, { assistant_id: "echo", input: say("two") });
  expect(await readHeld()).toEqual(["success", "running"]);
  expect(await countListed("success")).toBe(2);
});

it("is not that of a new run with the id of a deleted one", async () => {
  const caller = await newCaller();
  await runInDurableObject(getStub(caller, crypto.randomUUID()), (_, { storage }) => {
    const tables = new Tables(storage);
    const row = { run_id: "run", created: 1, status: "running", request: "{}", outcome: null };
    tables.outbox.keepTrace("[1]");
    tables.runs.insert(row);
    tables.runs.end("run", "success", "{}");
    tables.putThread('{"kept":1}');
    expect(new Tables(storage).runs.open()).toEqual([]);
    tables.deleteRun("run");
    tables.runs.insert(row);
    expect(new Tables(storage).runs.open()).toHaveLength(1);
    expect(JSON.parse(new Tables(storage).thread() ?? "")).toEqual({ kept: 1, trace: [1] });
  });
});

it("is kept as a whole or not at all", async () => {
  const caller = await newCaller();
  await runInDurableObject(getStub(caller, crypto.randomUUID()), (_, { storage }) => {
    const begun = new Tables(storage);
    for (const [created, run_id] of ["a", "b"].entries())
      begun.runs.insert({ run_id, created, status: "running", request: "{}", outcome: null });
    begun.transaction(() => {
      begun.runs.end("a", "success", '{"a":1}');
      begun.putThread("{}");
    });
    const listTold = (tables: Tables) =>
      [...tables.runs.list(9, 0)].map(({ run_id, status, outcome }) => [run_id, status, outcome]);
    const before = listTold(new Tables(storage));
    expect(before).toEqual([
      ["b", "running", null],
      ["a", "success", '{"a":1}'],
    ]);
    const tables = new Tables(storage);
    const left: unknown[] = [];
    for (let failed = 0, isDone = false; !isDone; failed += 1) {
      let statement = 0;
      const end = failStorage(storage.sql, { object: () => statement++ === failed });
      try {
        tables.transaction(() => {
          tables.runs.end("b", "error", '{"b":1}');
          tables.putThread("{}");
        });
        isDone = true;
      } catch {
        // As when the process stops there.
      } finally {
        end();
      }
      if (!isDone) left.push(listTold(tables), listTold(new Tables(storage)));
    }
    expect(left.length).toBeGreaterThan(2);
    expect(left).toEqual(left.map(() => before));
    expect(listTold(new Tables(storage))).toEqual([
      ["b", "error", '{"b":1}'],
      ["a", "success", '{"a":1}'],
    ]);
    expect(statuses(storage)).toEqual(["success", "running"]);
  });
});
