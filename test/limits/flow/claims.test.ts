/** How the limiter stores claims: those of two runs with one id, and what it writes. */
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, expect, it, vi } from "vitest";
import { flowControl } from "../../../src/limits/flow/rpc.ts";
import { FlowTables } from "../../../src/limits/flow/limiter.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { putRule } from "./put-rule.ts";

let caller: Caller;
beforeEach(async () => {
  caller = await newCaller();
});

const createClaimed = (runId: string, created: number, rule: string) => {
  const needs = [{ rule, key: "" }];
  const claim = { runId, threadId: crypto.randomUUID(), created, due: created, priority: 5, needs };
  return flowControl(env, caller.workspaceId).acquire(claim);
};

it("a limit a minute counts the start of a run of before, also after a restart", async () => {
  await putRule(caller, "starts", { starts_per_minute: 2 });
  const runId = crypto.randomUUID();
  const now = Date.now();
  expect(await createClaimed(runId, now, "starts")).toBe("granted");
  expect(await createClaimed(runId, now + 1, "starts")).toBe("granted");
  await flowControl(env, caller.workspaceId).release(runId, now + 1);
  await abortAllDurableObjects();
  expect(await createClaimed(runId, now + 2, "starts")).toBe("waits");
});

it("a claim that is granted at once is written once", async () => {
  await putRule(caller, "one", { concurrency: 1 });
  const changed = vi.spyOn(FlowTables.prototype, "setLease");
  const [first, second] = [crypto.randomUUID(), crypto.randomUUID()];
  expect(await createClaimed(first, 1, "one")).toBe("granted");
  expect(await createClaimed(second, 1, "one")).toBe("waits");
  expect(changed).not.toHaveBeenCalled();
  changed.mockRestore();
  await abortAllDurableObjects();
  expect(await createClaimed(first, 1, "one")).toBe("granted");
});

it("a claim that is stopped by one that is open is stored as stopped", async () => {
  const runId = crypto.randomUUID();
  const claim = { runId, threadId: crypto.randomUUID(), created: 1, due: 1, priority: 5, needs: [], stopped: true };
  await runInDurableObject(env.LIMITER.getByName(caller.workspaceId), (_, { storage }) => {
    const tables = new FlowTables(storage);
    tables.write(() => tables.insertLease(claim));
    expect(tables.leases()).toMatchObject([claim]);
  });
});
