/** A paused workspace, assistant or thread: no run begins there, and none is lost. */
import { abortAllDurableObjects } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import "../../support/pausing-graphs.ts";
import { newThread, say } from "../../threads/client.ts";
import { putRule } from "./put-rule.ts";
import { hold, release, start, waitForRun, untilFree, untilStatus } from "./working.ts";

interface Run {
  run_id: string;
  thread_id: string;
  status: string;
}

let caller: Caller;
beforeEach(async () => {
  caller = await newCaller();
});

const echo = async (thread: string): Promise<Run> =>
  (await caller.fetch(`/threads/${thread}/runs`, { body: { assistant_id: "echo", input: say("hello") } })).json<Run>();
const resume = async () => (await caller.fetch("/api/v1/flow/rules/stop", { method: "DELETE" })).status;
const isPaused = ({ waiting_for }: { waiting_for?: { reason: string }[] }) =>
  waiting_for?.some(({ reason }) => reason === "paused") ?? false;

it.each([
  ["a workspace", () => ({})],
  ["an assistant", () => ({ match: { assistant: "echo" } })],
  ["a thread", (thread: string) => ({ match: { thread } })],
])("%s: runs wait, also over a restart, and begin in turn when it is resumed", async (_what, match) => {
  const thread = await newThread(caller);
  await putRule(caller, "stop", { ...match(thread), paused: true });
  const [first, second] = [await echo(thread), await echo(thread)];
  expect(await waitForRun(caller, first, isPaused)).toMatchObject({
    status: "pending",
    position: 1,
    waiting_for: [{ rule: "stop", key: "", reason: "paused" }],
  });
  await abortAllDurableObjects();
  expect(await waitForRun(caller, first, isPaused)).toMatchObject({ status: "pending" });
  expect(await resume()).toBe(204);
  await untilStatus(caller, first, "success");
  await untilStatus(caller, second, "success");
});

it("other assistants and threads continue, and so does a run that has begun", async () => {
  const name = crypto.randomUUID();
  hold(name);
  const working = await start(caller, name);
  await untilStatus(caller, working, "running");
  const thread = await newThread(caller);
  await putRule(caller, "stop", { match: { thread }, paused: true });
  await putRule(caller, "busy", { match: { thread: working.thread_id }, paused: true });
  const other = await untilStatus(caller, await echo(await newThread(caller)), "success");
  expect(other).not.toHaveProperty("waiting_for");
  release(name);
  await untilStatus(caller, working, "success");
});

describe("runs that were accepted before the pause wait", () => {
  it("a run behind another one of its thread begins when it is resumed, also after a restart", async () => {
    const name = crypto.randomUUID();
    hold(name);
    const thread = await newThread(caller);
    const first = await start(caller, name, {}, thread);
    await untilStatus(caller, first, "running");
    const second = await start(caller, name, {}, thread);
    await putRule(caller, "stop", { match: { assistant: "working", metadata: { team: name } }, paused: true });
    release(name);
    await untilStatus(caller, first, "success");
    const waiting = { status: "pending", waiting_for: [{ rule: "stop", key: "", reason: "paused" }] };
    expect(await waitForRun(caller, second, isPaused)).toMatchObject(waiting);
    await abortAllDurableObjects();
    expect(await waitForRun(caller, second, isPaused)).toMatchObject(waiting);
    expect(await resume()).toBe(204);
    await untilStatus(caller, second, "success");
    await untilFree(caller);
  });

  it("a run that waits for a slot does not get it", async () => {
    const name = crypto.randomUUID();
    await putRule(caller, "one", { key: "metadata.team", concurrency: 1 });
    hold(name);
    const first = await start(caller, name);
    await untilStatus(caller, first, "running");
    const second = await start(caller, name);
    await waitForRun(caller, second, ({ position }) => position !== undefined);
    await putRule(caller, "stop", { match: { assistant: "working" }, paused: true });
    release(name);
    await untilStatus(caller, first, "success");
    await abortAllDurableObjects();
    expect(await waitForRun(caller, second, isPaused)).toMatchObject({
      status: "pending",
      waiting_for: [{ rule: "stop", key: "", reason: "paused" }],
    });
    expect(await resume()).toBe(204);
    await untilStatus(caller, second, "success");
    await untilFree(caller);
  });

  it("a run that is due later does not begin, and its cancellation leaves nothing behind", async () => {
    const thread = await newThread(caller);
    const body = { assistant_id: "echo", input: say("hello"), after_seconds: 1 };
    const run = await (await caller.fetch(`/threads/${thread}/runs`, { body })).json<Run>();
    await putRule(caller, "stop", { match: { thread }, paused: true });
    await waitForRun(caller, run, isPaused);
    await caller.fetch(`/threads/${thread}/runs/${run.run_id}/cancel?wait=true`, { method: "POST" });
    expect(await untilStatus(caller, run, "interrupted")).not.toHaveProperty("waiting_for");
    await untilFree(caller);
  });
});

it("a run that waits can be cancelled", async () => {
  const thread = await newThread(caller);
  await putRule(caller, "stop", { paused: true });
  const run = await echo(thread);
  await waitForRun(caller, run, isPaused);
  await caller.fetch(`/threads/${thread}/runs/${run.run_id}/cancel?wait=true`, { method: "POST" });
  expect(await untilStatus(caller, run, "interrupted")).not.toHaveProperty("waiting_for");
});

it("a paused rule shows its queue", async () => {
  await putRule(caller, "stop", { paused: true });
  const run = await echo(await newThread(caller));
  await waitForRun(caller, run, isPaused);
  const waiting = await (await caller.fetch("/api/v1/flow/waiting?rule=stop")).json();
  expect(await (await caller.fetch("/api/v1/flow/waiting")).json()).toEqual(waiting);
  expect(waiting).toMatchObject({ runs: [{ run_id: run.run_id, waiting_for: [{ reason: "paused" }] }] });
  const rules = await (await caller.fetch("/api/v1/flow/rules")).json();
  expect(rules).toMatchObject({ rules: [{ id: "stop", paused: true }] });
});
