/** The sweep of rules: which partitions it wakes, and what it reads. */
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { countCalls, database } from "../../../src/db/client.ts";
import { insertBackfill, takeBackfillParts, takeParts } from "../../../src/automation/rules/store.ts";
import { sweepRules, workPart } from "../../../src/automation/rules/work.ts";
import { projectExports } from "../../../src/deployment.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { ask } from "../../support/examples.ts";
import { newRule, readRule, type Rule, sendRuns, workOnce, workUntil } from "../../support/rules.ts";
import { DAY, NOON, projectId } from "../../support/traces.ts";

let caller: Caller;
let clock = NOON;

beforeEach(async () => {
  caller = await newCaller();
  projectExports.evaluators = {
    seen: () => undefined,
    broken: () => {
      throw new Error("out of order");
    },
  };
  await sendRuns(caller, (clock += 1_000_000), [{ name: "first" }]);
});
afterEach(() => {
  delete projectExports.evaluators;
  vi.restoreAllMocks();
});

const send = (runs: Record<string, unknown>[]) => sendRuns(caller, (clock += 1_000_000), runs);
const code = (name: string) => ({ code_evaluators: [{ code: name }] });

/** Of how many partitions it wakes the rule. */
async function countWoken({ id }: Rule): Promise<number> {
  const parts = await takeParts(database(env.DB), Date.now() + 60_000, 1_000);
  return parts.filter(({ ruleId }) => ruleId === id).length;
}
const alarm = async () =>
  runDurableObjectAlarm(env.TRACE_PARTITION.getByName(`${caller.workspaceId}/${await projectId(caller)}/${DAY}`));
const drop = async (trace: string) => {
  const session_id = await projectId(caller);
  await ask(caller, "/runs/delete", { body: { session_id, trace_ids: [trace] } });
  await alarm();
};

it("leaves to the next message what one invocation may not ask of D1", async () => {
  const seen: string[] = [];
  projectExports.evaluators = { seen: ({ id }) => void seen.push(id), score: () => ({ key: "k", score: 1 }) };
  const rule = await newRule(caller, { code_evaluators: [{ code: "seen" }, { code: "score" }] });
  const runs = await send(Array.from({ length: 30 }, (_, n) => ({ name: `run ${n}` })));
  await alarm();
  let messages = 1;
  while (await workPart(countCalls(env, 10), { ruleId: rule.id, day: DAY, shard: 0 })) messages += 1;
  expect(messages).toBeGreaterThan(3);
  expect(seen.toSorted()).toEqual(runs.map(({ id }) => id).toSorted());
  expect((await readRule(caller, rule)).stats).toMatchObject({ taken: 30, done: 30, failed: 0, waiting: 0 });
  const before = countCalls(env, 0);
  expect(await workPart(before, { ruleId: rule.id, day: DAY, shard: 0 })).toBe(true);
});

it("counts no attempt of a run that a message has left to the next one", async () => {
  const names = Array.from({ length: 8 }, (_, at) => `seen ${at}`);
  projectExports.evaluators = Object.fromEntries(names.map((name) => [name, () => undefined]));
  const rule = await newRule(caller, { code_evaluators: names.map((name) => ({ code: name })) });
  await send([{ name: "a" }]);
  await alarm();
  let messages = 0;
  let questions = 0;
  // It is asked as a message begins, before the run, and after each action.
  const allowance = { env, isSpent: () => ++questions > 2 };
  for (; await workPart(allowance, { ruleId: rule.id, day: DAY, shard: 0 }); messages++) questions = 0;
  expect(messages).toBeGreaterThan(6);
  expect((await readRule(caller, rule)).stats).toMatchObject({ done: 1, failed: 0 });
});

it("notes all parts and backfills that it takes in as many calls of D1 as one", async () => {
  const rules = [await newRule(caller, code("seen")), await newRule(caller, code("seen"))];
  for (const { id: ruleId } of rules) {
    const row = { id: ruleId, ruleId, startTime: 0, endTime: 1, createdAt: 0, touchedAt: 0, completedAt: null };
    await insertBackfill(database(env.DB), row, [{ day: DAY, shard: 0 }]);
  }
  await send([{ name: "a" }]);
  await alarm();
  const prepare = vi.spyOn(Object.getPrototypeOf(env.DB) as D1Database, "prepare");
  const later = Date.now() + 60_000;
  const calls = () => prepare.mock.calls.filter(([text]) => text.includes("rule_")).length;
  const filterOwn = (parts: { ruleId: string }[]) =>
    parts.filter(({ ruleId }) => rules.some(({ id }) => id === ruleId));
  expect(filterOwn(await takeParts(database(env.DB), later, 1_000))).toHaveLength(2);
  expect(calls()).toBe(2);
  expect(filterOwn(await takeBackfillParts(database(env.DB), later, 1_000))).toHaveLength(2);
  expect(calls()).toBe(4);
});

it("wakes a rule once after a deletion or feedback", async () => {
  const rule = await newRule(caller, code("seen"));
  const [one] = await send([{ name: "a" }]);
  await workUntil(caller, rule, 1);
  const { id } = await ask<{ id: string }>(caller, "/feedback", { body: { run_id: one!.id, key: "k", score: 1 } });
  await alarm();
  await workOnce(caller, rule);
  expect(await countWoken(rule)).toBe(0);
  await ask(caller, `/feedback/${id}`, { method: "DELETE" });
  await alarm();
  await workOnce(caller, rule);
  expect(await countWoken(rule)).toBe(0);
  // The rule has not seen it yet, and no other run has its change.
  const [two] = await send([{ name: "b" }]);
  await drop(two!.id);
  expect(await countWoken(rule)).toBe(1);
  await workOnce(caller, rule);
  expect(await countWoken(rule)).toBe(0);
});

it("looks for changes of the last hours by an index, and for others once an hour", async () => {
  const rule = await newRule(caller, code("seen"));
  await send([{ name: "a" }]);
  await alarm();
  const hour = Math.ceil(Date.now() / 3_600_000 + 6) * 3_600_000;
  const sent: string[] = [];
  const RULES = {
    sendBatch: async (messages: Iterable<{ body: { ruleId: string } }>) =>
      void sent.push(...[...messages].map(({ body }) => body.ruleId)),
  } as unknown as Queue;
  const prepare = vi.spyOn(Object.getPrototypeOf(env.DB) as D1Database, "prepare");
  await sweepRules({ DB: env.DB, RULES }, hour + 60_000);
  expect(sent).not.toContain(rule.id);
  await sweepRules({ DB: env.DB, RULES }, hour + 3_600_000);
  expect(sent).toContain(rule.id);
  const [statement] = prepare.mock.calls.map(([text]) => text).filter((text) => text.includes("UNION ALL"));
  const plan = await env.DB.prepare(`EXPLAIN QUERY PLAN ${statement ?? ""}`)
    .bind(0, 0, 0, 0)
    .all<{ detail: string }>();
  const details = plan.results.map(({ detail }) => detail).join("\n");
  expect(details).toContain("trace_partitions_changes (workspace_id=? AND project_id=? AND changes>?)");
  expect(details).toContain("rule_parts_waiting (touched_at<?)");
});

it("wakes no rule for runs that were deleted while they waited", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const rule = await newRule(caller, code("broken"));
  const [run] = await send([{ name: "a" }]);
  await workOnce(caller, rule);
  expect((await readRule(caller, rule)).stats).toMatchObject({ taken: 1, waiting: 1 });
  await drop(run!.id);
  await workOnce(caller, rule);
  expect((await readRule(caller, rule)).stats).toMatchObject({ taken: 1, waiting: 0, failed: 1 });
  expect(await countWoken(rule)).toBe(0);
});
