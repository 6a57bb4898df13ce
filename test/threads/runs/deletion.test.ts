/** The deletion of a run while others are at work, and what readers find of it. */
import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { graphs } from "../../../src/deployment.ts";
import { CHATS, GatedThread, gatedChats, textsOf } from "../../support/gated-graphs.ts";
import { recordIn, rowsIn } from "../../support/thread-tables.ts";

const stubOf = ({ caller, id }: GatedThread) => env.THREAD.getByName(`${caller.workspaceId}:${id}`);
const removals = async (thread: GatedThread) =>
  runInDurableObject(stubOf(thread), (_, { storage }) => recordIn<{ removals?: unknown[] }>(storage).removals);

it.each(CHATS)("%s: a queued run does not begin on what a deleted run has left", async (graph) => {
  const thread = await GatedThread.make(graph);
  await thread.wait("one");
  thread.close("close");
  const deleted = await thread.run("two");
  await thread.reaches("close", 2);
  const queued = await thread.run("three");
  expect(await thread.remove(deleted)).toBe(204);
  expect(await thread.statusOf(deleted)).toBe(404);
  thread.open("close");
  const wanted = ["one", "seen: one", "three", "seen: one|seen: one|three"];
  expect(await thread.join(queued)).toEqual(wanted);
  expect(await thread.state()).toEqual(wanted);
});

it.each(CHATS)("%s: a run that is being cancelled can still be deleted", async (graph) => {
  const thread = await GatedThread.make(graph);
  await thread.wait("one");
  thread.close("close");
  const deleted = await thread.run("two");
  await thread.reaches("close", 2);
  const [cancelled, removed] = await Promise.all([
    thread.call(`runs/${deleted}/cancel?wait=true`, { method: "POST" }),
    thread.remove(deleted),
  ]);
  expect([cancelled.status, removed]).toEqual([204, 204]);
  expect(await thread.state()).toEqual(["one", "seen: one"]);
  expect(await thread.statusOf(deleted)).toBe(404);
});

it.each(CHATS.flatMap((graph) => [false, true].map((restarts) => [graph, restarts] as const)))(
  "%s: what a run in flight stands on stays until it has ended (restarts: %s)",
  async (graph, restarts) => {
    const thread = await GatedThread.make(graph);
    await thread.wait("one");
    const deleted = await thread.run("two?");
    await thread.join(deleted);
    thread.close("ask");
    const responding = await thread.run(undefined, { command: { resume: "yes" } });
    await thread.reaches("ask", 2);
    expect(await thread.remove(deleted)).toBe(204);
    expect(await thread.statusOf(deleted)).toBe(404);
    if (restarts) {
      await abortAllDurableObjects();
      await thread.reaches("ask", 3);
    }
    const queued = await thread.run("three");
    thread.open("ask");
    const result = await thread.join(responding);
    expect(result).toEqual(["one", "seen: one", "two?", "seen: one|seen: one|two?"]);
    const all = await thread.join(queued);
    expect(all.slice(0, 5)).toEqual([...result, "three"]);
    expect(await thread.state()).toEqual(all);
    await expect.poll(() => removals(thread)).toBeUndefined();
    const history = (await thread.call<{ metadata: { run_id?: string } }[]>("history?limit=100")).body;
    expect(history.filter(({ metadata }) => metadata.run_id === deleted)).toEqual([]);
    expect(await thread.state()).toEqual(all);
  },
);

it("a run that waits to continue from a deleted run's checkpoint finds it", async () => {
  const thread = await GatedThread.make("gatedPlain");
  const deleted = await thread.run("one");
  await thread.join(deleted);
  const { checkpoint } = (await thread.call<{ checkpoint: { checkpoint_id: string } }>("state")).body;
  thread.close("close");
  const active = await thread.run("two");
  await thread.reaches("close", 2);
  const fork = await thread.run("three", { checkpoint_id: checkpoint.checkpoint_id });
  expect(await thread.remove(deleted)).toBe(204);
  thread.open("close");
  await thread.join(active);
  expect((await thread.join(fork)).slice(0, 3)).toEqual(["one", "seen: one", "three"]);
  await expect.poll(() => removals(thread)).toBeUndefined();
});

it("the failure of a run that ends after a deletion stays", async () => {
  const thread = await GatedThread.make("gatedPlain");
  const deleted = await thread.run("one");
  await thread.join(deleted);
  thread.close("close");
  const failing = await thread.run("fail");
  await thread.reaches("close", 2);
  expect(await thread.remove(deleted)).toBe(204);
  thread.open("close");
  await thread.join(failing);
  await expect.poll(() => removals(thread)).toBeUndefined();
  expect(await thread.statusOf(failing)).toBe("error");
  expect((await thread.call("")).body).toMatchObject({ status: "error", error: { message: "It fails." } });
  // A deletion at rest clears it.
  expect(await thread.remove(failing)).toBe(204);
  expect((await thread.call("")).body.status).toBe("idle");
});

it("without its graph, a deletion takes nothing from which later messages are replayed, and goes on with it", async () => {
  const thread = await GatedThread.make("gatedDelta");
  await thread.wait("zero");
  const deleted = await thread.run("one");
  await thread.join(deleted);
  const all = await thread.wait("two");
  delete graphs.gatedDelta;
  try {
    expect(await thread.remove(deleted)).toBe(204);
    expect(await thread.statusOf(deleted)).toBe(404);
  } finally {
    Object.assign(graphs, gatedChats);
  }
  expect(await thread.state()).toEqual(all);
  expect(await removals(thread)).toHaveLength(1);
  // The deploy that has the graph again restarts the object.
  await abortAllDurableObjects();
  const next = await thread.wait("three");
  expect(next.slice(0, all.length)).toEqual(all);
  expect(await removals(thread)).toBeUndefined();
});

it.each(["deleted", "rolled back"])("no reader of the thread gets what a %s run was given or said", async (how) => {
  const thread = await GatedThread.make("gatedPlain");
  await thread.wait("before");
  thread.close("close");
  const run = await thread.run("my secret");
  await thread.reaches("close", 2);
  const live = await thread.replayEvents();
  expect(live).toContain("my secret");
  const cursor = Math.max(...[...live.matchAll(/"seq":(\d+)/g)].map(([, seq]) => Number(seq)));
  const remove = async () => {
    thread.open("close");
    await thread.join(run);
    return thread.remove(run);
  };
  const rollBack = async () =>
    (await thread.call(`runs/${run}/cancel?wait=true&action=rollback`, { method: "POST" })).status;
  expect(await (how === "deleted" ? remove() : rollBack())).toBe(204);
  thread.open("close");
  await thread.wait("after");
  for (const restarts of [false, true]) {
    if (restarts) await abortAllDurableObjects();
    const replays = [await thread.replay(), await thread.replayEvents()];
    for (const replay of replays) {
      expect(replay).toContain("before");
      expect(replay).toContain("after");
      expect(replay).not.toContain("my secret");
    }
    // A reader that has seen the run's beginning learns of its end.
    expect(await thread.replayEvents(cursor)).toMatch(new RegExp(`synth:${run}:lc\\|\\|(completed|interrupted)`));
    expect(await thread.replayEvents(cursor)).not.toContain("my secret");
  }
  const left = await runInDurableObject(stubOf(thread), (_, { storage }) =>
    rowsIn(storage, "SELECT events, metas FROM segments").map((row) => JSON.stringify(row)),
  );
  expect(left.join("\n")).not.toContain("my secret");
  expect(await removals(thread)).toBeUndefined();
});

it("the log of a deleted run is compacted, and its thread copied", async () => {
  const thread = await GatedThread.make("gatedPlain");
  await thread.wait("one");
  const deleted = await thread.run("my secret");
  await thread.join(deleted);
  const all = await thread.wait("two");
  expect(await thread.remove(deleted)).toBe(204);
  await runDurableObjectAlarm(stubOf(thread));
  const { thread_id } = (await thread.call<{ thread_id: string }>("copy", { method: "POST" })).body;
  const copy = await thread.caller.fetch(`/threads/${thread_id}/state`);
  expect(textsOf((await copy.json<{ values: object }>()).values)).toEqual(all);
});

it("a copy that is made before a deletion is carried out carries it out itself", async () => {
  const thread = await GatedThread.make("gatedPlain");
  const deleted = await thread.run("two?");
  await thread.join(deleted);
  thread.close("ask");
  const responding = await thread.run(undefined, { command: { resume: "yes" } });
  await thread.reaches("ask", 1);
  expect(await thread.remove(deleted)).toBe(204);
  const { thread_id } = (await thread.call<{ thread_id: string }>("copy", { method: "POST" })).body;
  const copied = env.THREAD.getByName(`${thread.caller.workspaceId}:${thread_id}`);
  await runDurableObjectAlarm(copied);
  const history = await (await thread.caller.fetch(`/threads/${thread_id}/history?limit=100`)).json<unknown[]>();
  expect(JSON.stringify(history)).not.toContain("two?");
  thread.open("ask");
  await thread.join(responding);
});

it("none of the runs that are stopped together begins for a moment", async () => {
  const thread = await GatedThread.make("gatedPlain");
  const rule = `/api/v1/flow/rules/${crypto.randomUUID()}`;
  await thread.caller.fetch(rule, { method: "PUT", body: { match: { metadata: { held: "yes" } }, paused: true } });
  const waiting = [
    await thread.run("one", { metadata: { held: "yes" } }),
    await thread.run("two"),
    await thread.run("three"),
  ];
  const last = await thread.run("four", { multitask_strategy: "interrupt" });
  for (const run of waiting) expect(await thread.statusOf(run)).toBe("interrupted");
  await thread.caller.fetch(rule, { method: "DELETE" });
  expect(await thread.join(last)).toEqual(["four", "seen: four"]);
  const log = await thread.replayEvents();
  for (const run of waiting) expect(log).not.toContain(`synth:${run}:lc||running`);
});

it("no run begins on a thread that is being deleted", async () => {
  const thread = await GatedThread.make("gatedPlain");
  thread.close("speak");
  await thread.run("one");
  await thread.reaches("speak");
  const queued = await thread.run("two");
  const deleting = thread.call("", { method: "DELETE" });
  const late = thread.call("runs", { body: thread.toBody("three") });
  expect((await deleting).status).toBe(204);
  expect([200, 404]).toContain((await late).status);
  thread.open("speak");
  expect(thread.times("speak")).toBe(1);
  expect(await thread.statusOf(queued)).toBe(404);
});

it("a deletion that the object was to carry out when it restarted is carried out before the next run", async () => {
  const thread = await GatedThread.make("gatedDelta");
  await thread.wait("one");
  const deleted = await thread.run("two");
  await thread.join(deleted);
  delete graphs.gatedDelta;
  try {
    // Nothing can be read now, so it is only recorded.
    const later = await thread.run("three");
    await thread.join(later);
    expect(await thread.remove(deleted)).toBe(204);
  } finally {
    Object.assign(graphs, gatedChats);
  }
  await abortAllDurableObjects();
  const next = await thread.wait("four");
  expect(next).not.toContain("two");
  expect(next).toContain("one");
});
