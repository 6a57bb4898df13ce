/** Storage that fails: a failed commit leaves nothing behind, and what was gathered is not lost. */
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import { installClock, jump } from "../../support/clock.ts";
import { failStorage } from "../../support/failing-storage.ts";
import "../../support/graphs.ts";
import { get, newThread, parseFrames, say, stream } from "../client.ts";
import { insertsInto } from "../../support/thread-tables.ts";

const getStub = (caller: Caller, thread: string) => env.THREAD.getByName(`${caller.workspaceId}:${thread}`);

/** Lets the transactions of the thread's object fail, after `after` that succeed, until the object is lost. */
async function failTransactions(caller: Caller, thread: string, after: number): Promise<void> {
  await runInDurableObject(getStub(caller, thread), (_, { storage }) => {
    const real = storage.transactionSync.bind(storage);
    let done = 0;
    storage.transactionSync = (work) => {
      if (done++ < after) return real(work);
      return real(() => {
        work();
        throw new Error("disk I/O error: SQLITE_IOERR");
      });
    };
  });
}

it("a run whose commit fails is refused, and the thread is as before", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  await stream(caller, thread, { assistant_id: "echo", input: say("one") });
  const before = await get(caller, `/threads/${thread}`);
  await failTransactions(caller, thread, 0);
  for (let i = 0; i < 3; i += 1) {
    const refused = await caller.fetch(`/threads/${thread}/runs`, { body: { assistant_id: "echo", input: say("no") } });
    expect(refused.status).toBeGreaterThanOrEqual(500);
    await refused.text();
  }
  expect(await get(caller, `/threads/${thread}`)).toEqual(before);
  expect(await get(caller, `/threads/${thread}/runs`)).toHaveLength(1);
  await abortAllDurableObjects();
  const got = await stream(caller, thread, { assistant_id: "echo", input: say("two"), stream_mode: "values" });
  const { messages } = got.at(-1)!.data as { messages: { content: string }[] };
  expect(messages.map(({ content }) => content)).toEqual(["one", "You said: one", "two", "You said: two"]);
  expect((await caller.fetch(`/threads/${thread}`, { method: "DELETE" })).status).toBe(204);
});

it.each([1, 2, 3, 4])("a run whose flush %i fails continues from what is stored", async (after) => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  await failTransactions(caller, thread, after);
  const body = { assistant_id: "agent", input: say("What is 17 * 23?") };
  const { run_id } = await (await caller.fetch(`/threads/${thread}/runs`, { body })).json<{ run_id: string }>();
  const readRunStatus = async () => {
    const run = await caller.fetch(`/threads/${thread}/runs/${run_id}`).then(async (answer) => answer.json());
    return (run as { status?: string }).status;
  };
  await expect.poll(readRunStatus, { timeout: 15_000 }).toBe("success");
  const frames = parseFrames(
    await (await caller.fetch(`/threads/${thread}/runs/${run_id}/stream?stream_mode=updates`)).text(),
  );
  const ids = frames.map(({ id }) => Number(id)).filter((id) => id > 0);
  expect(ids).toEqual(ids.toSorted((a, b) => a - b));
  const steps = frames.filter(({ event }) => event === "updates").map(({ data }) => Object.keys(data)[0]);
  expect(steps).toEqual(["agent", "tools", "agent"]);
});

it("a run whose trace cannot be queued ends again, with its trace", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  let failures = 0;
  const object = (statement: string) => insertsInto("outbox", statement) && failures++ === 0;
  const restore = await runInDurableObject(getStub(caller, thread), (_, { storage }) =>
    failStorage(storage.sql, { object }),
  );
  try {
    // A trace of this size has rows of its own in the outbox.
    const body = { assistant_id: "echo", input: say("x".repeat(120_000)) };
    const { run_id } = await (await caller.fetch(`/threads/${thread}/runs`, { body })).json<{ run_id: string }>();
    const trace = async () => (await caller.fetch(`/api/v1/runs/${run_id}`)).status;
    await expect.poll(trace, { timeout: 20_000, interval: 500 }).toBe(200);
    expect(failures).toBeGreaterThan(1);
    expect(await get(caller, `/threads/${thread}/runs`)).toMatchObject([{ run_id, status: "success" }]);
  } finally {
    restore();
  }
});

it("a thread that restarts on a machine whose clock is behind is listed as it is", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  await stream(caller, thread, { assistant_id: "echo", input: say("one") });
  const resetClock = await runInDurableObject(getStub(caller, thread), (_, { storage }) => installClock(storage));
  try {
    jump(-4_000);
    await abortAllDurableObjects();
    await stream(caller, thread, { assistant_id: "asker", input: say("ask") });
    const listThreads = async () =>
      (await caller.fetch("/threads/search", { body: { ids: [thread] } })).json<{ status: string }[]>();
    await expect.poll(listThreads, { timeout: 20_000, interval: 500 }).toMatchObject([{ status: "interrupted" }]);
  } finally {
    resetClock();
  }
});
