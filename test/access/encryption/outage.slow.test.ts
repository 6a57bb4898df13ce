/** A thread of a workspace that encrypts wakes while D1 does not answer: calls bring its keys, and its alarm waits for D1. */
import { env } from "cloudflare:workers";
import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, expect, it } from "vitest";
import { forgetRing } from "../../../src/access/encryption/keys.ts";
import { threadObject } from "../../../src/threads/remote.ts";
import { newCaller } from "../../support/caller.ts";
import { failStorage, injected } from "../../support/failing-storage.ts";
import { newThread } from "../../threads/client.ts";
import { makeKey } from "../../support/encryption.ts";

let mend = () => {};
afterEach(() => mend());

it("its alarm does not throw, and carries out what is due afterwards", async () => {
  const caller = await newCaller();
  await makeKey(caller);
  const thread = await newThread(caller);
  const input = { messages: [{ role: "user", content: "hello" }] };
  const body = { assistant_id: "echo", input, after_seconds: 2 };
  const run = await (await caller.fetch(`/threads/${thread}/runs`, { body })).json<{ run_id: string }>();
  const object = () => threadObject(env, caller.workspaceId, thread);
  const alarm = () => runInDurableObject(object(), (_, { storage }) => storage.getAlarm());
  await runInDurableObject(object(), (_, { storage }) => {
    mend = failStorage(storage.sql, { d1: (statements) => statements.includes("encryption_keys") });
  });
  await abortAllDurableObjects();
  forgetRing(caller.workspaceId);
  const before = injected.count;
  expect(await runDurableObjectAlarm(object())).toBe(true);
  expect(injected.count).toBeGreaterThan(before);
  expect(await alarm()).toBeGreaterThan(Date.now() + 60_000);
  mend();
  await scheduler.wait(2_000);
  expect(await runDurableObjectAlarm(object())).toBe(true);
  await expect
    .poll(async () => await (await caller.fetch(`/threads/${thread}/runs/${run.run_id}`)).json<object>())
    .toMatchObject({ status: "success" });
});
