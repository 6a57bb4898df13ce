/** How the limiter stores claims: those of two runs with one id, and what it writes. */
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, expect, it, vi } from "vitest";
import { flowControl, type NewSlotLease } from "../../../src/limits/flow/rpc.ts";
import { type FlowRunFacts, isLimited, pickFacts } from "../../../src/limits/flow/run-flow.ts";
import { FlowTables } from "../../../src/limits/flow/limiter.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { putRule, uses } from "./put-rule.ts";

let caller: Caller;
beforeEach(async () => {
  caller = await newCaller();
});

const newClaim = (runId: string, created: number, facts: Partial<FlowRunFacts> = {}): NewSlotLease => {
  const threadId = crypto.randomUUID();
  const known = { threadId, assistantId: "a", graphId: "g", metadata: {}, ...facts };
  return { runId, threadId, created, due: created, claim: { flow: { needs: [] }, facts: known } };
};
const createClaimed = (runId: string, created: number, facts?: Partial<FlowRunFacts>) =>
  flowControl(env, caller.workspaceId).acquire(newClaim(runId, created, facts));

it("a limit a minute counts the start of a run of before, also after a restart", async () => {
  await putRule(caller, "starts", { starts_per_minute: 2 });
  const runId = crypto.randomUUID();
  const now = Date.now();
  expect(await createClaimed(runId, now)).toBe("granted");
  expect(await createClaimed(runId, now + 1)).toBe("granted");
  await flowControl(env, caller.workspaceId).release(runId, now + 1);
  await abortAllDurableObjects();
  expect(await createClaimed(runId, now + 2)).toBe("waits");
});

it("a claim that is granted at once is written once", async () => {
  await putRule(caller, "one", { concurrency: 1 });
  const changed = vi.spyOn(FlowTables.prototype, "setLease");
  const [first, second] = [crypto.randomUUID(), crypto.randomUUID()];
  expect(await createClaimed(first, 1)).toBe("granted");
  expect(await createClaimed(second, 1)).toBe("waits");
  expect(changed).not.toHaveBeenCalled();
  changed.mockRestore();
  await abortAllDurableObjects();
  expect(await createClaimed(first, 1)).toBe("granted");
});

it("a claim that is stopped by one that is open is stored as stopped", async () => {
  const runId = crypto.randomUUID();
  const claimed = newClaim(runId, 1);
  const claim = { ...claimed, priority: 5, needs: [], stopped: true };
  await runInDurableObject(env.LIMITER.getByName(caller.workspaceId), (_, { storage }) => {
    const tables = new FlowTables(storage);
    tables.write(() => tables.insertLease(claim));
    expect(tables.leases()).toMatchObject([{ ...claimed, stopped: true }]);
  });
});

it("a claim that arrives after the release of its run holds nothing, and waits for nothing", async () => {
  await putRule(caller, "once", { singleton: "first" });
  const [late, next] = [crypto.randomUUID(), crypto.randomUUID()];
  await flowControl(env, caller.workspaceId).release(late, 1);
  expect(await createClaimed(late, 1)).toBe("waits");
  expect(await uses(caller)).toEqual([]);
  // Another run with the same id is another run.
  expect(await createClaimed(next, 1)).toBe("granted");
  await flowControl(env, caller.workspaceId).release(next, 1);
  expect(await createClaimed(late, 2)).toBe("granted");
});

it("a rule matches texts of any length, before and after it changes", async () => {
  const plan = "x".repeat(500);
  const metadata = { ...Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`m${i}`, "y".repeat(100)])), plan };
  const facts = { threadId: "t", assistantId: "a", graphId: "g", metadata };
  const rule = { id: "stop", key: "workspace", match: { metadata: { plan } }, paused: true as const };
  expect(isLimited([], [rule], facts)).toBe(true);
  expect(isLimited([], [rule], pickFacts(facts, [rule]))).toBe(true);
  expect(isLimited([], [{ ...rule, match: { metadata: { plan: `${plan}x` } } }], pickFacts(facts, [rule]))).toBe(false);
});
