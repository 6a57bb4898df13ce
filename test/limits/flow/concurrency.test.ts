/** A rule's concurrency: runs past it wait, say so, and begin in turn; one that ends while it waits leaves the queue. */
import { abortAllDurableObjects } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import { pause } from "../../support/aborts.ts";
import { seeded } from "../../support/random.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import "../../support/pausing-graphs.ts";
import { newThread } from "../../threads/client.ts";
import { putRule, uses } from "./put-rule.ts";
import { hold, most, release, readRun, start, waitForRun, untilFree, untilStatus } from "./working.ts";

const random = seeded("flow");
let caller: Caller;
let name: string;
beforeEach(async () => {
  caller = await newCaller();
  name = crypto.randomUUID();
});

const waits = { position: 1, waiting_for: [{ rule: "teams", key: expect.any(String), reason: "concurrency" }] };
const perTeam = (concurrency: number) => putRule(caller, "teams", { key: "metadata.team", concurrency });
const isQueued = ({ position }: { position?: number }) => position !== undefined;

it("a run past the rule waits with its position, and begins when a slot is free", async () => {
  await perTeam(1);
  hold(name);
  const first = await start(caller, name);
  await untilStatus(caller, first, "running");
  const second = await start(caller, name);
  const third = await start(caller, name);
  expect(await waitForRun(caller, second, isQueued)).toMatchObject({ status: "pending", ...waits });
  expect(await waitForRun(caller, third, isQueued)).toMatchObject({ ...waits, position: 2 });
  const listed = await caller.fetch(`/api/v1/flow/waiting?rule=teams&key=${name}`);
  expect(await listed.json()).toMatchObject({
    runs: [
      { run_id: second.run_id, thread_id: second.thread_id, priority: 5, position: 1 },
      { run_id: third.run_id, position: 2 },
    ],
  });
  expect(await uses(caller)).toMatchObject([{ rule: "teams", key: name, held: 1, waiting: 2 }]);
  const metrics = await (await caller.fetch("/metrics?format=prometheus")).text();
  expect(metrics).toContain('weir_flow_slots_held{rule="teams"} 1');
  expect(metrics).toContain('weir_flow_runs_waiting{rule="teams"} 2');
  release(name);
  for (const run of [first, second, third]) {
    const ended = await untilStatus(caller, run, "success");
    expect(ended).not.toHaveProperty("position");
    expect(ended).not.toHaveProperty("waiting_for");
  }
  expect(most.get(name)).toBe(1);
  await untilFree(caller);
});

it("keys do not wait for each other, and a run without the key is not counted", async () => {
  await perTeam(1);
  hold(name);
  const runs = [await start(caller, name), await start(caller, name, { metadata: { team: `${name} b` } })];
  runs.push(await start(caller, name, { metadata: {} }), await start(caller, name, { metadata: {} }));
  for (const run of runs) await untilStatus(caller, run, "running");
  expect(await uses(caller)).toHaveLength(2);
  release(name);
  for (const run of runs) await untilStatus(caller, run, "success");
});

it("a stream of a run that waits begins when its turn comes, and so does its result", async () => {
  await perTeam(1);
  hold(name);
  const first = await start(caller, name);
  await untilStatus(caller, first, "running");
  const body = { assistant_id: "working", input: { name }, metadata: { team: name } };
  const streaming = caller.fetch("/runs/stream", { body }).then((response) => response.text());
  const waiting = caller.fetch("/runs/wait", { body }).then((response) => response.json());
  await expect.poll(async () => (await uses(caller))[0]?.waiting).toBe(2);
  release(name);
  expect(await streaming).toContain("event: values");
  expect(await waiting).toEqual({ name, ms: 0 });
});

describe("each end takes a run that waits out of the queue", () => {
  const ends: [string, (thread: string, run: string) => Promise<unknown>][] = [
    ["a cancel", (thread, run) => caller.fetch(`/threads/${thread}/runs/${run}/cancel?wait=true`, { body: {} })],
    [
      "a rollback",
      (thread, run) => caller.fetch(`/threads/${thread}/runs/${run}/cancel?wait=true&action=rollback`, { body: {} }),
    ],
    ["the deletion of the run", (thread, run) => caller.fetch(`/threads/${thread}/runs/${run}`, { method: "DELETE" })],
    ["the deletion of the thread", (thread) => caller.fetch(`/threads/${thread}`, { method: "DELETE" })],
    [
      "another run that interrupts it",
      (thread) => start(caller, name, { metadata: {}, multitask_strategy: "interrupt" }, thread),
    ],
  ];
  it.each(ends)("%s", async (_, end) => {
    await perTeam(1);
    hold(name);
    const first = await start(caller, name);
    await untilStatus(caller, first, "running");
    const thread = await newThread(caller);
    const second = await start(caller, name, {}, thread);
    await waitForRun(caller, second, isQueued);
    const third = await start(caller, name);
    await waitForRun(caller, third, ({ position }) => position === 2);
    await end(thread, second.run_id);
    await waitForRun(caller, third, ({ position }) => position === 1);
    release(name);
    expect(await untilStatus(caller, third, "success")).toBeDefined();
    await untilFree(caller);
  });
});

it("runs of one thread claim one after the other: a run behind another holds nothing", async () => {
  await perTeam(2);
  hold(name);
  const thread = await newThread(caller);
  const first = await start(caller, name, {}, thread);
  await untilStatus(caller, first, "running");
  const behind = await start(caller, name, {}, thread);
  const other = await start(caller, name);
  await untilStatus(caller, other, "running");
  expect(await readRun(caller, behind)).toMatchObject({ status: "pending" });
  expect(await uses(caller)).toMatchObject([{ held: 2, waiting: 0 }]);
  release(name);
  await untilStatus(caller, behind, "success");
});

it("a run that asks a person holds no slot, and its answer claims one", async () => {
  await putRule(caller, "all", { concurrency: 1 });
  const thread = await newThread(caller);
  const body = { assistant_id: "plain", input: {} };
  await (await caller.fetch(`/threads/${thread}/runs/wait`, { body })).text();
  expect(await (await caller.fetch(`/threads/${thread}`)).json()).toMatchObject({ status: "interrupted" });
  await untilFree(caller);
  hold(name);
  const other = await start(caller, name);
  await untilStatus(caller, other, "running");
  const answer = await caller.fetch(`/threads/${thread}/runs`, {
    body: { assistant_id: "plain", command: { resume: "yes" } },
  });
  const resume = { ...(await answer.json<{ run_id: string }>()), thread_id: thread, status: "pending" };
  await waitForRun(caller, resume, isQueued);
  release(name);
  await untilStatus(caller, resume, "success");
});

it("several rules: a run holds all its slots or none", async () => {
  await putRule(caller, "all", { concurrency: 3 });
  await perTeam(1);
  hold(name);
  const [a, b] = [`${name} a`, `${name} b`];
  const first = await start(caller, name, { metadata: { team: a } });
  await untilStatus(caller, first, "running");
  const second = await start(caller, name, { metadata: { team: a } });
  await waitForRun(caller, second, isQueued);
  // What waits for its team holds none of the workspace's slots.
  for (const team of [b, `${name} c`])
    await untilStatus(caller, await start(caller, name, { metadata: { team } }), "running");
  const last = await start(caller, name, { metadata: { team: `${name} d` } });
  expect(await waitForRun(caller, last, isQueued)).toMatchObject({ waiting_for: [{ rule: "all", key: "" }] });
  release(name);
  for (const run of [second, last]) await untilStatus(caller, run, "success");
  await untilFree(caller);
});

it("a rule that changes or is deleted lets those begin that wait", async () => {
  await perTeam(1);
  hold(name);
  const runs = [await start(caller, name)];
  await untilStatus(caller, runs[0]!, "running");
  runs.push(await start(caller, name), await start(caller, name));
  await waitForRun(caller, runs[2]!, isQueued);
  await waitForRun(caller, runs[1]!, isQueued);
  await perTeam(2);
  await expect.poll(async () => (await uses(caller))[0]).toMatchObject({ held: 2, waiting: 1 });
  await caller.fetch("/api/v1/flow/rules/teams", { method: "DELETE" });
  for (const run of runs) await untilStatus(caller, run, "running");
  release(name);
  await untilFree(caller);
});

it("restarts of the thread and of the limiter lose no slot and give none twice", async () => {
  await perTeam(2);
  const runs = await Promise.all(Array.from({ length: 12 }, () => start(caller, name, { input: { name, ms: 40 } })));
  for (let restarts = 0; restarts < 2; restarts += 1) {
    await abortAllDurableObjects();
    const held = (await uses(caller)).reduce((sum, use) => sum + use.held, 0);
    const running = await Promise.all(runs.map((run) => readRun(caller, run)));
    expect(running.filter(({ status }) => status === "running").length).toBeLessThanOrEqual(2);
    expect(held).toBeLessThanOrEqual(2);
    await pause(random.between(0, 120));
  }
  for (const run of runs) expect(await untilStatus(caller, run, "success")).toBeDefined();
  await untilFree(caller);
});
