/** Singleton and debounce: a run of a key stops others of it, or is stopped by them. */
import { abortAllDurableObjects, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { anyStorage } from "../../chaos/faults.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { installClock, jump } from "../../support/clock.ts";
import { putRule } from "./put-rule.ts";
import { began, hold, release, readRun, start, waitForRun, untilFree, untilStatus } from "./working.ts";

let caller: Caller;
let name: string;
let resetClock: () => void;
beforeAll(async () => {
  resetClock = await anyStorage((storage) => installClock(storage));
});
afterAll(() => resetClock());
beforeEach(async () => {
  caller = await newCaller();
  name = crypto.randomUUID();
});

const timesBegun = () => began.filter((one) => one.name === name).length;

it("singleton first: a run is stopped while another of its key is open", async () => {
  await putRule(caller, "once", { key: "metadata.team", singleton: "first" });
  hold(name);
  const first = await start(caller, name);
  await untilStatus(caller, first, "running");
  await untilStatus(caller, await start(caller, name), "interrupted");
  const other = await start(caller, name, { metadata: { team: `${name} b` } });
  await untilStatus(caller, other, "running");
  expect(await readRun(caller, first)).toMatchObject({ status: "running" });
  release(name);
  await untilStatus(caller, first, "success");
  await untilFree(caller);
  expect(timesBegun()).toBe(2);
  await untilStatus(caller, await start(caller, name), "success");
});

it("singleton last: a run stops the one that works, and begins when that has ended", async () => {
  await putRule(caller, "once", { key: "metadata.team", singleton: "last" });
  hold(name);
  const first = await start(caller, name);
  await untilStatus(caller, first, "running");
  const second = await start(caller, name);
  await untilStatus(caller, first, "interrupted");
  await untilStatus(caller, second, "running");
  release(name);
  expect(await untilStatus(caller, second, "success")).toMatchObject({ run_id: second.run_id });
  await untilFree(caller);
});

it("debounce: of runs that follow each other the last one begins, after the time", async () => {
  await putRule(caller, "calm", { key: "metadata.team", debounce_seconds: 30 });
  const runs = [await start(caller, name), await start(caller, name)];
  await untilStatus(caller, runs[0]!, "interrupted");
  expect(await waitForRun(caller, runs[1]!, ({ position }) => position === 1)).toMatchObject({
    waiting_for: [{ rule: "calm", key: name, reason: "debounce_seconds" }],
  });
  jump(20_000);
  const last = await start(caller, name);
  await untilStatus(caller, runs[1]!, "interrupted");
  jump(20_000);
  const limiter = env.LIMITER.getByName(caller.workspaceId);
  await runDurableObjectAlarm(limiter);
  expect(await readRun(caller, last)).toMatchObject({ status: "pending", position: 1 });
  jump(11_000);
  await runDurableObjectAlarm(limiter);
  await untilStatus(caller, last, "success");
  expect(timesBegun()).toBe(1);
});

it("debounce: a run that waits for another rule after its time is not stopped", async () => {
  await putRule(caller, "calm", { key: "metadata.team", debounce_seconds: 30 });
  await putRule(caller, "stop", { paused: true });
  const first = await start(caller, name);
  await waitForRun(caller, first, ({ position }) => position === 1);
  jump(31_000);
  const second = await start(caller, name);
  await waitForRun(caller, second, ({ position }) => position === 2);
  expect(await readRun(caller, first)).toMatchObject({
    status: "pending",
    waiting_for: [{ rule: "stop", reason: "paused" }],
  });
  const third = await start(caller, name);
  await untilStatus(caller, second, "interrupted");
  expect(await readRun(caller, first)).toMatchObject({ status: "pending" });
  await waitForRun(caller, third, ({ position }) => position === 2);
});

it("a restart does not lose that a run is to be stopped", async () => {
  await putRule(caller, "once", { key: "metadata.team", singleton: "last" });
  hold(name);
  const first = await start(caller, name);
  await untilStatus(caller, first, "running");
  const second = await start(caller, name);
  await waitForRun(caller, second, ({ status, position }) => status === "running" || position !== undefined);
  await abortAllDurableObjects();
  await untilStatus(caller, first, "interrupted");
  await untilStatus(caller, second, "running");
  release(name);
  expect(await untilStatus(caller, second, "success")).toMatchObject({ run_id: second.run_id });
  await untilFree(caller);
});
