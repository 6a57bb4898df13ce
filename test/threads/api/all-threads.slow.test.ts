/** Requests that change all threads of a workspace. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { deleteCronsOn } from "../../../src/automation/crons/store.ts";
import { deleteThreads } from "../../../src/threads/api/delete.ts";
import { forEach, MAX_THREADS_PER_REQUEST } from "../../../src/threads/limits.ts";
import { RemoteThread, threadStub } from "../../../src/threads/remote.ts";
import { indexShard } from "../../../src/threads/search/rpc.ts";
import { removeRows, threadIds } from "../../../src/threads/search/store.ts";
import { pause } from "../../support/aborts.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { get, newThread, say } from "../client.ts";

afterEach(() => vi.restoreAllMocks());

/** Adds `count` index rows without a thread, which sort before any thread's. */
async function addRows(caller: Caller, count: number, status = "idle"): Promise<void> {
  const changes = await runInDurableObject(env.THREAD_INDEX.getByName(`${caller.workspaceId}:0`), (_, { storage }) => {
    const before = storage.sql.exec<{ n: number }>("SELECT count(*) n FROM threads").one().n;
    storage.sql.exec(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION SELECT i + 1 FROM n WHERE i < ?1)
       INSERT INTO threads SELECT printf('00000000-0000-4000-8000-%012d', i), ?2, metadata, config,
         "values", has_values, ?2 = 'busy', interrupts, error, created_at, updated_at, state_updated_at, revision
       FROM (SELECT * FROM threads LIMIT 1), n`,
      count,
      status,
    );
    return storage.sql.exec<{ n: number }>("SELECT count(*) n FROM threads").one().n - before;
  });
  expect(changes).toBe(count);
}

const count = async (caller: Caller) => (await caller.fetch("/threads/count", { body: {} })).json<number>();

/** Replaces a call of threads, and counts how many are under way. */
function replace(method: "remove" | "cancelMany", answer: unknown) {
  const seen = { calls: 0, most: 0 };
  let open = 0;
  vi.spyOn(RemoteThread.prototype, method).mockImplementation(async () => {
    open += 1;
    seen.calls += 1;
    seen.most = Math.max(seen.most, open);
    await pause(0);
    open -= 1;
    return answer as never;
  });
  return seen;
}

describe("deleting all threads", () => {
  it("finds the threads behind index rows that have none, and takes those off the index", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    await addRows(caller, 150);
    await deleteThreads(env, caller.workspaceId, deleteCronsOn);
    expect((await caller.fetch(`/threads/${thread}`)).status).toBe(404);
    expect(await count(caller)).toBe(0);
  });

  it(
    "calls a few at a time, up to a limit per request, and continues with the next request",
    { timeout: 240_000 },
    async () => {
      const caller = await newCaller();
      const assistant = await caller.fetch("/assistants", { body: { graph_id: "echo" } });
      const { assistant_id } = await assistant.json<{ assistant_id: string }>();
      await newThread(caller, { metadata: { assistant_id } });
      await addRows(caller, MAX_THREADS_PER_REQUEST + 50);
      const seen = replace("remove", false);
      const path = `/assistants/${assistant_id}?delete_threads=true`;
      const first = await caller.fetch(path, { method: "DELETE" });
      expect(first.status).toBe(503);
      expect(first.headers.get("retry-after")).toBe("1");
      expect(seen.calls).toBe(MAX_THREADS_PER_REQUEST);
      expect(seen.most).toBe(6);
      expect(await count(caller)).toBe(51);
      // The deletion is not half done: the assistant still exists.
      await get(caller, `/assistants/${assistant_id}`);
      expect((await caller.fetch(path, { method: "DELETE" })).status).toBe(204);
      expect(await count(caller)).toBe(0);
      expect((await caller.fetch(`/assistants/${assistant_id}`)).status).toBe(404);
    },
  );

  it("deletes the others when one cannot be deleted, and says so", async () => {
    const caller = await newCaller();
    const threads = await Promise.all(Array.from({ length: 3 }, () => newThread(caller)));
    await addRows(caller, 120);
    vi.spyOn(RemoteThread.prototype, "remove").mockRejectedValueOnce(new Error("stuck"));
    await expect(deleteThreads(env, caller.workspaceId, deleteCronsOn)).rejects.toThrow("stuck");
    expect(await count(caller)).toBe(1);
    for (const thread of threads) expect((await caller.fetch(`/threads/${thread}`)).status).toBe(404);
  });

  it("keeps the index row of a thread that was created again", async () => {
    const caller = await newCaller();
    await newThread(caller);
    const rows = await threadIds(env, caller.workspaceId, { limit: 1, offset: 0 });
    const older = rows.map(({ id, revision }) => ({ id, revision: revision - 1 }));
    await removeRows(env, caller.workspaceId, older);
    expect(await count(caller)).toBe(1);
    await removeRows(env, caller.workspaceId, rows);
    expect(await count(caller)).toBe(0);
  });
});

describe("an index row without a thread", () => {
  const stale = "00000000-0000-4000-8000-000000000001";

  it("goes when the thread is deleted", async () => {
    const caller = await newCaller();
    await newThread(caller);
    await addRows(caller, 1);
    const remove = () => caller.fetch(`/threads/${stale}`, { method: "DELETE" });
    expect((await remove()).status).toBe(204);
    expect(await count(caller)).toBe(1);
    expect((await remove()).status).toBe(404);
  });

  it("goes when the thread is pruned, and when an application deletes it", async () => {
    const caller = await newCaller();
    await newThread(caller);
    await addRows(caller, 2);
    const pruned = await caller.fetch("/threads/prune", { body: { thread_ids: [stale], strategy: "delete" } });
    expect(await pruned.json()).toEqual({ pruned_count: 1 });
    const other = stale.replace(/1$/, "2");
    expect((await caller.fetch(`/api/threads/${other}`, { method: "DELETE" })).status).toBe(204);
    expect(await count(caller)).toBe(1);
  });

  it("is the thread's own when the thread is made in the meantime", async () => {
    const caller = await newCaller();
    await newThread(caller);
    await addRows(caller, 1);
    vi.spyOn(RemoteThread.prototype, "remove").mockImplementationOnce(async () => {
      await newThread(caller, { thread_id: stale });
      return false;
    });
    expect((await caller.fetch(`/threads/${stale}`, { method: "DELETE" })).status).toBe(404);
    expect(await count(caller)).toBe(2);
  });
});

describe("cancelling all runs", () => {
  it("stops those of every thread", async () => {
    const caller = await newCaller();
    const body = { assistant_id: "echo", input: say("hi"), after_seconds: 600 };
    const runs = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const thread = await newThread(caller);
        const run = await (await caller.fetch(`/threads/${thread}/runs`, { body })).json<{ run_id: string }>();
        return `/threads/${thread}/runs/${run.run_id}`;
      }),
    );
    const answer = await caller.fetch("/runs/cancel", { body: { status: "pending" } });
    expect(answer.status).toBe(204);
    for (const run of runs) expect(await get(caller, run)).toMatchObject({ status: "interrupted" });
  });

  it.each(["running", "all"])("stops a run that has just begun (%s)", async (status) => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    const body = { assistant_id: "agent", input: say("count to 100") };
    const run = await (await caller.fetch(`/threads/${thread}/runs`, { body })).json<{ run_id: string }>();
    expect((await caller.fetch("/runs/cancel", { body: { status } })).status).toBe(204);
    await expect
      .poll(async () => get(caller, `/threads/${thread}/runs/${run.run_id}`), { timeout: 10_000 })
      .toMatchObject({ status: "interrupted" });
  });

  it("stops a run that waits for its time on a thread that is not busy", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    const body = { assistant_id: "echo", input: say("hi"), after_seconds: 600 };
    const run = await (await caller.fetch(`/threads/${thread}/runs`, { body })).json<{ run_id: string }>();
    const rows = () =>
      indexShard(env, caller.workspaceId, 0).search({ limit: 1, offset: 0, sortBy: "thread_id", sortOrder: "asc" });
    await expect.poll(rows).toMatchObject([{ open: true }]);
    const [row] = await rows();
    if (!row) throw new Error("The thread has no row.");
    await indexShard(env, caller.workspaceId, 0).put({ ...row, status: "idle", revision: row.revision + 1 });
    expect(await get(caller, "/api/v1/activity/runs")).toMatchObject({ runs: [{ run_id: run.run_id }] });
    expect((await caller.fetch("/runs/cancel", { body: { status: "pending" } })).status).toBe(204);
    expect(await get(caller, `/threads/${thread}/runs/${run.run_id}`)).toMatchObject({ status: "interrupted" });
    await expect.poll(rows).toMatchObject([{ open: false, status: "idle" }]);
  });

  it("leaves the runs that were created later", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    const body = { assistant_id: "echo", input: say("hi"), after_seconds: 600 };
    const start = async () => (await caller.fetch(`/threads/${thread}/runs`, { body })).json<{ run_id: string }>();
    const first = await start();
    await pause(5);
    const createdBefore = Date.now();
    await pause(5);
    const second = await start();
    const stub = threadStub(env, caller.workspaceId, thread);
    expect(await stub.cancelMany({ status: "all", createdBefore }, "interrupt")).toBe(1);
    expect(await get(caller, `/threads/${thread}/runs/${first.run_id}`)).toMatchObject({ status: "interrupted" });
    expect(await get(caller, `/threads/${thread}/runs/${second.run_id}`)).toMatchObject({ status: "pending" });
  });

  it("calls a limited number of threads per request, and says when there are more", { timeout: 240_000 }, async () => {
    const caller = await newCaller();
    await newThread(caller);
    await addRows(caller, MAX_THREADS_PER_REQUEST + 1, "busy");
    const seen = replace("cancelMany", 0);
    const answer = await caller.fetch("/runs/cancel", { body: { status: "all" } });
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(seen).toEqual({ calls: MAX_THREADS_PER_REQUEST, most: 6 });
  });
});

it("prunes the threads that are named, each once", async () => {
  const caller = await newCaller();
  const threads = await Promise.all(Array.from({ length: 9 }, () => newThread(caller)));
  // A thread with a run takes a moment to go.
  const [first = ""] = threads;
  await caller.fetch(`/threads/${first}/runs`, { body: { assistant_id: "agent", input: say("count to 100") } });
  const thread_ids = [first, ...threads, crypto.randomUUID()];
  const answer = await caller.fetch("/threads/prune", { body: { thread_ids } });
  expect(await answer.json()).toEqual({ pruned_count: 9 });
  expect(await count(caller)).toBe(0);
});

it("forEach gives results in order, and throws only after all work is done", async () => {
  const items = Array.from({ length: 20 }, (_, i) => i);
  expect(await forEach(items, async (i) => pause(20 - i).then(() => i * 2))).toEqual(items.map((i) => i * 2));
  const done: number[] = [];
  const work = async (i: number) => {
    await pause(1);
    if (i === 0) throw new Error("first");
    done.push(i);
  };
  await expect(forEach(items, work)).rejects.toThrow("first");
  expect(done).toHaveLength(19);
});
