/** A rule that changes counts for all runs that wait: those that it begins to match, and those that it matches no longer. */
import { abortAllDurableObjects } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import { newThread } from "../../threads/client.ts";
import { putRule, uses } from "./put-rule.ts";
import { hold, readRun, release, type Shown, start, untilFree, untilStatus, waitForRun } from "./working.ts";

let caller: Caller;
let name: string;
beforeEach(async () => {
  caller = await newCaller();
  name = crypto.randomUUID();
});

/** Waits until the run waits for this, and nothing else. */
const untilFor = (run: Shown, ...reasons: string[]) =>
  waitForRun(caller, run, ({ waiting_for = [] }) => {
    return waiting_for.map(({ rule, reason }) => `${rule} ${reason}`).join() === reasons.join();
  });

const onThread = async (metadata: object): Promise<Shown> =>
  start(caller, name, { metadata: { team: name, ...metadata } }, await newThread(caller));

describe.each([
  ["a thread", ({ thread_id }: Shown) => ({ thread: thread_id })],
  ["a member of metadata", () => ({ metadata: { plan: "a" } })],
])("a pause of the workspace that becomes one of %s", (_what, matchOf) => {
  it("lets the others begin, also after a restart", async () => {
    await putRule(caller, "stop", { paused: true });
    const [a, b, c] = [await onThread({ plan: "a" }), await onThread({ plan: "b" }), await onThread({ plan: "c" })];
    for (const run of [a, b, c]) await untilFor(run, "stop paused");
    await putRule(caller, "stop", { match: matchOf(a), paused: true });
    await untilStatus(caller, b, "success");
    await abortAllDurableObjects();
    await untilStatus(caller, c, "success");
    await untilFor(a, "stop paused");
    expect(await readRun(caller, a)).toMatchObject({ status: "pending" });
    await caller.fetch("/api/v1/flow/rules/stop", { method: "DELETE" });
    await untilStatus(caller, a, "success");
    await untilFree(caller);
  });
});

it("a limit that a pause replaces under its id pauses only what the pause matches", async () => {
  await putRule(caller, "one", { concurrency: 1 });
  hold(name);
  const first = await onThread({ plan: "a" });
  await untilStatus(caller, first, "running");
  const [a, b] = [await onThread({ plan: "a" }), await onThread({ plan: "b" })];
  for (const run of [a, b]) await untilFor(run, "one concurrency");
  await putRule(caller, "one", { match: { metadata: { plan: "a" } }, paused: true });
  await untilStatus(caller, b, "running");
  await untilFor(a, "one paused");
  // The run that works matches the pause, and goes on.
  expect(await uses(caller)).toEqual([expect.objectContaining({ rule: "one", held: 1, waiting: 1 })]);
  release(name);
  await untilStatus(caller, first, "success");
  expect(await readRun(caller, a)).toMatchObject({ status: "pending" });
});

it("a rule that is widened or made holds back runs that wait for another one, and counts those that work", async () => {
  await putRule(caller, "one", { match: { metadata: { plan: "a" } }, concurrency: 1 });
  hold(name);
  const first = await onThread({ plan: "a" });
  await untilStatus(caller, first, "running");
  const second = await onThread({ plan: "a" });
  await untilFor(second, "one concurrency");
  await putRule(caller, "two", { key: "metadata.plan", concurrency: 1 });
  await untilFor(second, "one concurrency", "two concurrency");
  await putRule(caller, "one", { match: { metadata: { plan: "b" } }, concurrency: 1 });
  await untilFor(second, "two concurrency");
  await putRule(caller, "one", { concurrency: 1 });
  await untilFor(second, "one concurrency", "two concurrency");
  await caller.fetch("/api/v1/flow/rules/one", { method: "DELETE" });
  await putRule(caller, "two", { key: "metadata.plan", concurrency: 2 });
  await untilStatus(caller, second, "running");
  expect(await uses(caller)).toEqual([expect.objectContaining({ rule: "two", key: "a", held: 2, waiting: 0 })]);
  release(name);
  for (const run of [first, second]) await untilStatus(caller, run, "success");
  await untilFree(caller);
});

it("a run behind another one of its thread reads the rules when its turn comes, whatever they limit", async () => {
  hold(name);
  const thread = await newThread(caller);
  const first = await start(caller, name, {}, thread);
  await untilStatus(caller, first, "running");
  const second = await start(caller, name, {}, thread);
  const other = crypto.randomUUID();
  hold(other);
  await putRule(caller, "one", { match: { assistant: "working" }, concurrency: 1 });
  const holder = await start(caller, other);
  await untilStatus(caller, holder, "running");
  release(name);
  await untilStatus(caller, first, "success");
  await untilFor(second, "one concurrency");
  expect(await readRun(caller, second)).toMatchObject({ status: "pending", position: 1 });
  release(other);
  await untilStatus(caller, second, "success");
  await untilFree(caller);
});
