/** Flow control in the oracle: the case's runs need slots, and find them taken or free. The model does not change. */
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { flowControl } from "../../src/limits/flow/rpc.ts";
import { putRule, uses } from "../limits/flow/put-rule.ts";
import type { Caller } from "../support/caller.ts";
import type { Case } from "./dimensions.ts";

/** A batch, and the copies of a thread, have runs of one case at the same time. */
const SLOTS = 3;

/** The rule of a case, by the graph that only this case has. */
export async function limit(caller: Caller, graphId: string): Promise<void> {
  await putRule(caller, graphId, { match: { assistant: graphId }, concurrency: SLOTS });
}

/**
 * No run of the case holds a slot or waits for one; then the rule goes. The clock of the oracle holds alarms back: the limiter's
 * wakes threads that no step of the case does.
 */
export async function endLimit(caller: Caller, graphId: string): Promise<void> {
  const left = async () => {
    await wakeLimiter(caller);
    const all = (await uses(caller, 1_000)).filter(({ rule }) => rule === graphId);
    return all.map(({ held, waiting }) => ({ held, waiting }));
  };
  await expect.poll(left, { timeout: 90_000, interval: 200 }).toEqual([]);
  await caller.fetch(`/api/v1/flow/rules/${graphId}`, { method: "DELETE" });
}

export type Change = Exclude<Case["slots"], "none" | "free" | "taken">;

/** Changes the rule under a run that waits for its slots. */
export async function changeRule(caller: Caller, graphId: string, how: Change): Promise<void> {
  const match = { assistant: graphId };
  const rules = {
    widened: { match, concurrency: SLOTS + 9 },
    narrowed: { match: { ...match, thread: crypto.randomUUID() }, concurrency: SLOTS },
    paused: { match, concurrency: SLOTS, paused: true },
  };
  if (how === "deleted") await caller.fetch(`/api/v1/flow/rules/${graphId}`, { method: "DELETE" });
  else await putRule(caller, graphId, rules[how]);
}

/** What waits in the limiter is woken. */
export const wakeLimiter = ({ workspaceId }: Caller): Promise<boolean | undefined> =>
  runDurableObjectAlarm(env.LIMITER.getByName(workspaceId)).catch(() => undefined);

/** Takes all slots of the case until the function that it gives is called. */
export async function takeSlots({ workspaceId }: Caller, graphId: string): Promise<() => Promise<void>> {
  const flow = flowControl(env, workspaceId);
  const ids = Array.from({ length: SLOTS }, () => crypto.randomUUID());
  for (const runId of ids) {
    const facts = { threadId: runId, assistantId: graphId, graphId, metadata: {} };
    await flow.acquire({ runId, threadId: runId, created: 1, due: 0, claim: { flow: { needs: [] }, facts } });
  }
  return async () => {
    for (const runId of ids) await flow.release(runId, 1);
  };
}
