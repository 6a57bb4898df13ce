/** When the alarm of a thread comes, by which a run is resumed whose process has stopped. */
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import { armAlarm } from "../../../src/threads/object/alarm.ts";
import { ThreadContext } from "../../../src/threads/context.ts";
import { newCaller } from "../../support/caller.ts";
import { failStorage } from "../../support/failing-storage.ts";
import { newThread } from "../client.ts";

const NOW = 1_000_000;
afterEach(() => vi.restoreAllMocks());

/** When the alarm is set to, for an object with these parts; undefined when the one that stands is kept. */
function armWith(context: object, runner: object): number | undefined {
  vi.spyOn(Date, "now").mockReturnValue(NOW);
  const setAlarm = vi.fn<(at: number) => void>();
  const parts = {
    ctx: { waitUntil: () => undefined, storage: { setAlarm } },
    tables: { tombstones: { nextDue: () => undefined }, outbox: { nextDue: () => undefined } },
    eventLog: { isRead: false },
    ...context,
  };
  armAlarm(parts as never, runner as never);
  return setAlarm.mock.calls[0]?.[0];
}

it.each([
  [0, 4_000],
  [1_500, 4_000],
  [5_000, 10_000],
  [60_000, 30_000],
])("of a run that has taken %i ms, in %i ms", (age, wait) => {
  const runner = { busy: true, open: [{ status: "running", due: 0, outcome: { updated: NOW - age } }] };
  expect(armWith({}, runner)).toBe(NOW + wait);
});

it.each([
  [0, 12_000],
  [12_000, 24_000],
  [60_000, 30_000],
])("of a run with a reader that has taken %i ms, in %i ms: the reader connects again sooner", (age, wait) => {
  const runner = { busy: true, open: [{ status: "running", due: 0, outcome: { updated: NOW - age } }] };
  expect(armWith({ eventLog: { isRead: true } }, runner)).toBe(NOW + wait);
});

it("of a run whose creator follows it, and of one whose creator does not", async () => {
  const caller = await newCaller();
  const watchdog = async (stream: boolean) => {
    const thread = await newThread(caller);
    const stub = env.THREAD.getByName(`${caller.workspaceId}:${thread}`);
    const setAlarm = await runInDurableObject(stub, (_, { storage }) => vi.spyOn(storage, "setAlarm"));
    const before = Date.now();
    const body = { assistant_id: "echo", input: { messages: [{ role: "user", content: "hello" }] } };
    await (await caller.fetch(`/threads/${thread}/runs${stream ? "/stream" : ""}`, { body })).text();
    return Number(setAlarm.mock.calls[0]?.[0]) - before;
  };
  expect(await watchdog(true)).toBeGreaterThanOrEqual(12_000);
  const unread = await watchdog(false);
  expect(unread).toBeGreaterThanOrEqual(4_000);
  expect(unread).toBeLessThan(12_000);
});

it("of a run whose creator does not follow it, after one that its creator would have followed was not created", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const stub = env.THREAD.getByName(`${caller.workspaceId}:${thread}`);
  const setAlarm = await runInDurableObject(stub, (_, { storage }) => vi.spyOn(storage, "setAlarm"));
  const body = { assistant_id: "echo", input: { messages: [{ role: "user", content: "hello" }] } };
  const restore = await runInDurableObject(stub, (_, { storage }) => failStorage(storage.sql, { object: () => true }));
  const refused = await caller.fetch(`/threads/${thread}/runs/stream`, { body });
  restore();
  expect(refused.status).toBeGreaterThanOrEqual(500);
  setAlarm.mockClear();
  const before = Date.now();
  await (await caller.fetch(`/threads/${thread}/runs`, { body })).text();
  expect(Number(setAlarm.mock.calls[0]?.[0]) - before).toBeLessThan(12_000);
});

const outbox = { nextDue: () => NOW };
const AT_REST = { busy: false, open: [] };

it.each<[string, object, number | undefined]>([
  ["an effect that is being carried out", { tables: { outbox, tombstones: { nextDue: () => undefined } } }, 4_000],
  [
    "the same with an alarm in half a minute",
    { tables: { outbox, tombstones: { nextDue: () => undefined } }, alarmAt: NOW + 30_000 },
    undefined,
  ],
  [
    "the same with a later alarm",
    { tables: { outbox, tombstones: { nextDue: () => undefined } }, alarmAt: NOW + 30_001 },
    4_000,
  ],
  ["an index row that is being written", { stale: true, isProjecting: true }, 4_000],
  ["the same with an alarm in half a minute", { stale: true, isProjecting: true, alarmAt: NOW + 30_000 }, undefined],
  ["an index row that was not written", { stale: true, isProjecting: false, alarmAt: NOW + 30_000 }, 2_000],
  ["nothing", {}, undefined],
])("for %s", (_what, context, wait) => {
  expect(armWith(context, AT_REST)).toBe(wait && NOW + wait);
});

it("for a TTL before the index row is written: the process may stop in between", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const alarm = () =>
    runInDurableObject(env.THREAD.getByName(`${caller.workspaceId}:${thread}`), (_, { storage }) => storage.getAlarm());
  expect(await alarm()).toBeNull();
  let write = (): void => undefined;
  const writing = vi
    .spyOn(ThreadContext.prototype, "project")
    .mockReturnValue(new Promise<void>((resolve) => (write = resolve)));
  const patched = caller.fetch(`/threads/${thread}`, { method: "PATCH", body: { ttl: 60 } });
  // Threads of other tests write their rows too.
  const isWriting = () => writing.mock.contexts.some((context) => (context as ThreadContext).threadId === thread);
  await expect.poll(isWriting).toBe(true);
  expect(await alarm()).toBeGreaterThan(Date.now() + 50 * 60_000);
  write();
  expect((await patched).status).toBe(200);
});

it("is set again by the next call when the platform has dropped it, and not for nothing", async () => {
  const caller = await newCaller();
  const getStub = (thread: string) => env.THREAD.getByName(`${caller.workspaceId}:${thread}`);
  const [kept, other] = [await newThread(caller, { ttl: 60 }), await newThread(caller)];
  await runInDurableObject(getStub(kept), (_, { storage }) => storage.deleteAlarm());
  await abortAllDurableObjects();
  for (const thread of [kept, other]) expect((await caller.fetch(`/threads/${thread}`)).status).toBe(200);
  const alarm = (thread: string) => runInDurableObject(getStub(thread), (_, { storage }) => storage.getAlarm());
  await expect.poll(() => alarm(kept)).toBeGreaterThan(Date.now() + 50 * 60_000);
  expect(await alarm(other)).toBeNull();
});
