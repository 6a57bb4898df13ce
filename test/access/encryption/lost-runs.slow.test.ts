/** A run whose key is destroyed before it ends keeps nothing from other threads: slots, lists, cancellations and deploys. */
import { abortAllDurableObjects } from "cloudflare:test";
import { expect, it } from "vitest";
import { newCaller } from "../../support/caller.ts";
import { newThread } from "../../threads/client.ts";
import { putRule, uses } from "../../limits/flow/put-rule.ts";
import { hold, release, start, untilStatus } from "../../limits/flow/working.ts";
import { makeKey } from "../../support/encryption.ts";

it("its slots are free, and calls for all threads leave it out", async () => {
  const caller = await newCaller();
  const name = crypto.randomUUID();
  await putRule(caller, "teams", { key: "metadata.team", concurrency: 1 });
  const { id: key } = await makeKey(caller);
  hold(name);
  const lost = await newThread(caller);
  await untilStatus(caller, await start(caller, name, {}, lost), "running");
  await makeKey(caller);
  const destroyed = await caller.fetch(`/api/v1/encryption-keys/${key}/destroy`, { body: { confirm: key } });
  expect(destroyed.status).toBe(200);
  const later = await start(caller, name);
  release(name);
  // The object restarts with this call, and can no longer read its run.
  await expect.poll(async () => (await caller.fetch(`/threads/${lost}`)).status).toBe(410);
  // After a restart the limiter asks soon whether runs still hold their slots, and else within ten minutes.
  await abortAllDurableObjects();
  await uses(caller);
  await untilStatus(caller, later, "success");
  await expect.poll(async () => uses(caller), { timeout: 5_000 }).toEqual([]);
  expect((await caller.fetch("/runs/cancel", { body: { status: "all" } })).status).toBe(204);
  const check = await caller.fetch("/graphs/check", { body: { graphs: {} } });
  expect([check.status, (await check.json<{ threads: { thread_id: string }[] }>()).threads]).toEqual([200, []]);
});
