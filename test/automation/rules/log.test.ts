/** The log of a rule: the runs that wait for it, that are done, and that have failed. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { tracePartition } from "../../../src/traces/stub.ts";
import { projectExports } from "../../../src/deployment.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { ask } from "../../support/examples.ts";
import { newRule, type Rule, sendRuns, workOnce, workUntil } from "../../support/rules.ts";
import { DAY, NOON, projectId } from "../../support/traces.ts";

interface Logged {
  run_id: string;
  status: string;
  action: string | null;
  error: string | null;
  time: string | null;
  will_retry: boolean;
}

let caller: Caller;
let clock = NOON;
beforeEach(async () => {
  caller = await newCaller();
  projectExports.evaluators = {
    seen: (run) => {
      if (run.name === "broken") throw new Error("out of order");
    },
  };
  await sendRuns(caller, (clock += 1_000_000), [{ name: "first" }]);
});
afterEach(() => {
  delete projectExports.evaluators;
  vi.restoreAllMocks();
});

const code = { code_evaluators: [{ code: "seen", language: "javascript" }] };
const log = ({ id }: Rule, query: string) => ask<Logged[]>(caller, `/runs/rules/${id}/logs?${query}`);

it("has the runs that wait: those that a worker has, and those that are tried again, with their error", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const rule = await newRule(caller, code);
  const [broken, good] = await sendRuns(caller, (clock += 1_000_000), [{ name: "broken" }, { name: "good" }]);
  await workUntil(caller, rule, 1);
  const [next] = await sendRuns(caller, (clock += 1_000_000), [{ name: "next" }]);
  const place = { projectId: await projectId(caller), day: DAY, shard: 0 };
  await tracePartition(env, caller.workspaceId, place).takeForRule({
    rule: rule.id,
    reading: "changes",
    reach: { since: 0 },
    selection: {},
    rate: 1,
    limit: 10,
    lease: 600_000,
  });
  const time = expect.stringMatching(/^20.*Z$/) as string;
  const waiting = { status: "pending", action: "code_evaluator", time };
  expect(await log(rule, "status=pending")).toEqual(
    [
      { ...waiting, run_id: broken!.id, error: "out of order", will_retry: true },
      { ...waiting, run_id: next!.id, error: null, will_retry: false },
    ].map((one) => ({ ...one, rule_id: rule.id })),
  );
  const done = { status: "done", action: null, error: null, time: null, will_retry: false };
  expect(await log(rule, "status=done")).toEqual([{ ...done, rule_id: rule.id, run_id: good!.id }]);
  expect(await log(rule, "status=failed")).toEqual([]);
  expect(await log(rule, "")).toMatchObject([{ run_id: broken!.id, status: "pending", will_retry: true }]);
});

it("has the runs that are done, the newest first, in pages, and of this rule alone", async () => {
  const [rule, other] = [await newRule(caller, code), await newRule(caller, { ...code, filter: 'eq(name, "b")' })];
  const runs = await sendRuns(caller, (clock += 1_000_000), [{ name: "a" }, { name: "b" }, { name: "c" }]);
  await workUntil(caller, rule, 3);
  await workUntil(caller, other, 1);
  const ids = runs.map(({ id }) => id).toReversed();
  const listDone = async (of: Rule, query = "") => (await log(of, `status=done${query}`)).map(({ run_id }) => run_id);
  expect(await listDone(rule)).toEqual(ids);
  expect(await listDone(rule, "&limit=1&offset=1")).toEqual([ids[1]]);
  expect(await listDone(other)).toEqual([ids[1]]);
  expect(await log(rule, "status=pending")).toEqual([]);
});

it("has the runs that are given up", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const rule = await newRule(caller, code);
  delete projectExports.evaluators;
  const [run] = await sendRuns(caller, (clock += 1_000_000), [{ name: "a" }]);
  await workOnce(caller, rule);
  const failed = { run_id: run!.id, status: "failed", action: "code_evaluator", will_retry: false };
  expect(await log(rule, "status=failed")).toMatchObject([failed]);
  expect(await log(rule, "status=pending")).toEqual([]);
});

it.each([
  "status=other",
  "status=pending&start_time=2026-01-01T00:00:00Z",
  "status=done&end_time=2026-01-01T00:00:00Z",
  "status=done&offset=20001",
])("refuses %s", async (query) => {
  const rule = await newRule(caller, code);
  expect((await caller.fetch(`/runs/rules/${rule.id}/logs?${query}`)).status).toBe(422);
});
