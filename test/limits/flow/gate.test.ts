/** A run that ends while its thread reads the rules stays ended. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { forgetRules } from "../../../src/limits/flow/rpc.ts";
import { ThreadContext } from "../../../src/threads/context.ts";
import { toRunRecord } from "../../../src/threads/run.ts";
import { SlotGate } from "../../../src/threads/runs/gate.ts";
import type { RunRow } from "../../../src/threads/store/statements.ts";
import { newCaller } from "../../support/caller.ts";
import { putRule } from "./put-rule.ts";

it.each([true, false])("is not written as pending again; it has ended: %s", async (hasEnded) => {
  const caller = await newCaller();
  await putRule(caller, "stop", { paused: true });
  forgetRules(caller.workspaceId);
  const stub = env.THREAD.getByName(`${caller.workspaceId}:${crypto.randomUUID()}`);
  await runInDurableObject(stub, async (_, ctx) => {
    const context = new ThreadContext(ctx, env);
    const { runs } = context.tables;
    const request = JSON.stringify({ assistant: { config: {} } });
    runs.insert({ run_id: "run", created: 1, status: "pending", request, outcome: null });
    const run = toRunRecord(runs.open()[0] as RunRow);
    const answered = Promise.withResolvers<void>();
    const gate = new SlotGate(context, answered.resolve);
    expect(gate.opens(run)).toBe(false);
    if (hasEnded) {
      runs.end("run", "interrupted", "{}");
      gate.leave("run");
    }
    await answered.promise;
    expect(runs.get("run")?.status).toBe(hasEnded ? "interrupted" : "pending");
    expect(run.outcome.claimed).toBe(hasEnded ? undefined : true);
  });
});
