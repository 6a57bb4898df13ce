/** Limits a minute: starts and tokens. Time frees their slots, by the limiter's alarm. */
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { anyStorage } from "../../chaos/faults.ts";
import { installClock, jump } from "../../support/clock.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { say } from "../../threads/client.ts";
import { putRule } from "./put-rule.ts";
import { readRun, start, waitForRun, untilStatus } from "./working.ts";

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

const isQueued = ({ position }: { position?: number }) => position !== undefined;

/** A minute passes, and the limiter's alarm comes. */
async function minute(): Promise<void> {
  jump(60_000);
  await runDurableObjectAlarm(env.LIMITER.getByName(caller.workspaceId));
}

it("starts: the next run begins a minute after the first of the last ones", async () => {
  await putRule(caller, "starts", { starts_per_minute: 2 });
  for (let i = 0; i < 2; i += 1) await untilStatus(caller, await start(caller, name), "success");
  const third = await start(caller, name);
  expect(await waitForRun(caller, third, isQueued)).toMatchObject({
    position: 1,
    waiting_for: [{ rule: "starts", key: "", reason: "starts_per_minute" }],
  });
  const use = await caller.fetch("/api/v1/flow/use");
  expect(await use.json()).toMatchObject({ uses: [{ held: 0, waiting: 1, starts_last_minute: 2 }] });
  await minute();
  await untilStatus(caller, third, "success");
});

it("tokens: a run begins when the last minute has used fewer", async () => {
  await putRule(caller, "tokens", { tokens_per_minute: 5 });
  const spend = { assistant_id: "agent", input: say("count to 3") };
  const [first, ...others] = await Promise.all([1, 2].map(() => start(caller, name, spend)));
  // What runs that work will use is not known: both began.
  for (const run of [first!, ...others]) await untilStatus(caller, run, "success");
  const next = await start(caller, name);
  expect(await waitForRun(caller, next, isQueued)).toMatchObject({
    waiting_for: [{ rule: "tokens", reason: "tokens_per_minute" }],
  });
  await minute();
  await untilStatus(caller, next, "success");
  // A run without a model call uses none.
  expect(await readRun(caller, await start(caller, name))).toMatchObject({
    status: expect.stringMatching(/pending|running|success/),
  });
});

it("a priority lets later runs begin before", async () => {
  await putRule(caller, "one", { concurrency: 1, starts_per_minute: 1 });
  await putRule(caller, "vip", { match: { metadata: { vip: true } }, priority: 9 });
  await untilStatus(caller, await start(caller, name), "success");
  const usual = await start(caller, name);
  await waitForRun(caller, usual, isQueued);
  const vip = await start(caller, name, { metadata: { vip: true } });
  expect(await waitForRun(caller, vip, isQueued)).toMatchObject({ position: 1 });
  expect(await readRun(caller, usual)).toMatchObject({ position: 2 });
  await minute();
  await untilStatus(caller, vip, "success");
  expect(await readRun(caller, usual)).toMatchObject({ status: "pending", position: 1 });
});
