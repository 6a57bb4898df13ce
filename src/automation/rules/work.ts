/** Consumes the queue's messages of rules. A message is a wake-up: the partition holds which runs are to be worked on. */
import * as v from "valibot";
import { type Allowance, countCalls, database } from "../../db/client.ts";
import { ACTION_RETRIES, retryTime } from "../../lib/due-work.ts";
import { logError } from "../../lib/log.ts";
import { inParallel } from "../../lib/parallel.ts";
import { toProblem } from "../../lib/problem.ts";
import { eachRun } from "../../traces/query/find.ts";
import { acrossMidnight } from "../../traces/query/midnight.ts";
import type { RuleOutcome, RuleRun } from "../../traces/rpc.ts";
import { tracePartition } from "../../traces/stub.ts";
import { dayBounds } from "../../traces/time.ts";
import type { LargeField, QueriedRun } from "../../traces/types.ts";
import { readActions, isFinal } from "./actions.ts";
import { type RuleCall, toEvaluatedRun } from "./evaluation.ts";
import { filterFault, openRuleSecrets } from "./input.ts";
import {
  ALL_RUNS,
  completePart,
  findBackfill,
  forgetFailure,
  type RulePart,
  type RuleRow,
  type RuleToWork,
  ruleToWork,
  saveFailure,
  savePart,
  touchBackfills,
  deleteOldFailures,
  takeBackfillParts,
  takeParts,
} from "./store.ts";

const PartShape = v.strictObject({
  ruleId: v.string(),
  day: v.string(),
  shard: v.number(),
  backfillId: v.optional(v.string()),
});

/** True for a message of rules. The queue's name does not matter. */
export const isRuleMessage = (message: Message): message is Message<RulePart> => v.is(PartShape, message.body);

/** Runs that are taken at once, and those that are worked on at a time. */
const AT_ONCE = 20;
const PARALLEL = 4;
/** So few runs are taken as are worked on when their actions may take longer than this, milliseconds. */
const LONG_MS = 200_000;
/** For how long a message is worked on before another one continues, milliseconds. */
const TURN_MS = 60_000;
/** Attempts without progress after which a run is given up. */
const MAX_ATTEMPTS = ACTION_RETRIES.length + 1;
const MAX_ERROR = 1_000;
const PAYLOADS: LargeField[] = ["inputs", "outputs", "error", "extra", "events"];

/** Handles messages one after the other. A message that fails is retried. */
export async function workRules(messages: Message<RulePart>[], env: Env): Promise<void> {
  const allowance = countCalls(env);
  for (const message of messages) {
    try {
      if (await workPart(allowance, message.body)) await env.RULES.send(message.body);
      message.ack();
    } catch (error) {
      logError(error, { rule: message.body });
      message.retry();
    }
  }
}

/** Works on the runs of a partition for a minute, or until the allowance is spent. True when others wait. */
export async function workPart({ env, isSpent }: Allowance, part: RulePart): Promise<boolean> {
  if (isSpent()) return true;
  const db = database(env.DB);
  const backfill = part.backfillId === undefined ? undefined : await findBackfill(db, part.backfillId);
  if (part.backfillId !== undefined && (!backfill || backfill.completedAt !== null)) return false;
  const end = Date.now() + TURN_MS;
  for (;;) {
    // It may have been changed or paused since the last runs.
    const rule = await ruleToWork(db, part.ruleId);
    if (!rule || (await noteFault(env, rule))) return false;
    const { workspaceId, projectId } = rule;
    const place = { projectId, day: part.day, shard: part.shard };
    const filters = {
      filter: rule.filter ?? undefined,
      traceFilter: rule.traceFilter ?? undefined,
      treeFilter: rule.treeFilter ?? undefined,
    };
    const partition = tracePartition(env, workspaceId, place);
    const secrets = await openRuleSecrets(env, rule);
    // A run that is not settled after this time is given again: the worker was killed.
    const most = readActions(rule).reduce((sum, action) => sum + action.most, TURN_MS / 2);
    const limit = most > LONG_MS ? PARALLEL : AT_ONCE;
    const lease = most * Math.ceil(limit / PARALLEL);
    const taken = await partition.takeForRule({
      rule: rule.id,
      reading: part.backfillId ?? "changes",
      reach: backfill ?? { since: rule.since, pauses: rule.pauses },
      selection: await acrossMidnight(env, workspaceId, place, filters),
      rate: rule.samplingRate,
      limit,
      lease,
    });
    if (taken === undefined) {
      if (part.backfillId !== undefined) await completePart(db, part);
      return false;
    }
    const runs = await listRuns(env, rule, part, taken.runs);
    await inParallel(taken.runs, PARALLEL, async (one) => {
      const caller = {
        env,
        principal: { workspaceId, scopes: ["read", "write"] as const, kind: "cron" as const, credentialId: rule.id },
      };
      const call = { env, rule, secrets, place, runId: one.id, attempt: one.attempt, behalf: caller };
      const settle = (settled: RuleOutcome) =>
        partition.settleForRule(rule.id, [{ ...settled, wait: settled.wait ?? lease }]);
      await evaluate(call, one, runs.get(one.id), { settle, isSpent });
    });
    const counts = (await partition.settleForRule(rule.id, [])) ?? taken.counts;
    // The runs of a backfill say nothing of the changes that the rule has seen.
    await savePart(db, part, { ...counts, change: backfill ? 0 : taken.change });
    if (part.backfillId !== undefined) await touchBackfills(db, [part.backfillId]);
    if (isSpent()) return true;
    if (!taken.more) {
      if (part.backfillId !== undefined) await completePart(db, part);
      return false;
    }
    if (Date.now() >= end) return true;
  }
}

/** Whether the rule can take no runs, such as by a filter that reads what is encrypted. Its log has the reason while this is so. */
async function noteFault(env: Env, rule: RuleToWork): Promise<boolean> {
  const db = database(env.DB);
  const fault = await filterFault(env, rule, true);
  if (fault !== undefined) {
    const failure = { ruleId: rule.id, runId: ALL_RUNS, traceId: "", action: "filter", error: fault, isFinal: false };
    await saveFailure(db, { ...failure, at: Date.now() });
  } else if (rule.isFailing) await forgetFailure(db, rule.id, ALL_RUNS);
  return fault !== undefined;
}

/** Does the actions that are left, and notes each of them when it is done. */
async function evaluate(
  call: Omit<RuleCall, "action">,
  { id, attempt: given, done }: RuleRun,
  run: QueriedRun | undefined,
  { settle, isSpent }: { settle: (settled: RuleOutcome) => Promise<unknown>; isSpent: () => boolean },
): Promise<void> {
  const db = database(call.env.DB);
  const actions = readActions(call.rule).filter((action) => !done.includes(action.id));
  let [attempt, cost, next] = [given, 0, actions[0]];
  const note = (state: RuleOutcome["state"], more: Partial<RuleOutcome> = {}) => settle({ id, state, cost, ...more });
  // It was deleted.
  if (!run) return void (await note("failed"));
  const fail = async (text: string, isFinal: boolean) =>
    saveFailure(db, {
      ruleId: call.rule.id,
      runId: id,
      traceId: run.trace_id,
      action: next?.name ?? "run",
      error: text.slice(0, MAX_ERROR),
      at: Date.now(),
      isFinal,
    });
  // An attempt whose worker is killed notes no failure.
  if (attempt > MAX_ATTEMPTS) {
    await fail(`None of ${MAX_ATTEMPTS} attempts came to an end. The last one was cut off.`, true);
    return void (await note("failed"));
  }
  try {
    // What this message may not do, the next one does.
    if (isSpent()) return void (await note("due", { wait: 0 }));
    const shown = await toEvaluatedRun(call.env, run);
    for (const [at, action] of actions.entries()) {
      next = action;
      cost = await action.act({ ...call, attempt, action: action.id }, run, shown);
      if (at === actions.length - 1) break;
      const stops = isSpent();
      await note("due", { did: action.id, ...(stops && { wait: 0 }) });
      if (stops) return;
      [attempt, cost] = [1, 0];
    }
    await note("done", next && { did: next.id });
    if (given > 1) await forgetFailure(db, call.rule.id, id);
  } catch (error) {
    cost = 0;
    const due = retryTime(ACTION_RETRIES, attempt - 1, 0);
    const isOver = isFinal(error) || due === undefined;
    logError(error, { rule: call.rule.id, run: id, attempt });
    await fail(toText(error), isOver);
    await note(isOver ? "failed" : "due", { wait: due ?? 0 });
  }
}

/** The text of a failure as its rule's owner may read it. */
function toText(error: unknown): string {
  const { status, detail } = toProblem(error);
  return status < 500 || !(error instanceof Error) ? detail : error.message;
}

async function listRuns(
  env: Env,
  { workspaceId, projectId }: RuleRow,
  { day }: RulePart,
  taken: RuleRun[],
): Promise<Map<string, QueriedRun>> {
  const runs = new Map<string, QueriedRun>();
  const { start: startTime, end: endTime } = dayBounds(day);
  const selection = { ids: taken.map(({ id }) => id), startTime, endTime };
  const find = { projectIds: [projectId], selection, order: "asc" as const, limit: taken.length, payloads: PAYLOADS };
  for await (const run of eachRun(env, workspaceId, find)) runs.set(run.id, run);
  return runs;
}

// The sweep of every minute: it wakes the work on partitions whose runs have changed, and what got lost.

/** A part on which no worker has worked for this time is woken again, milliseconds. */
const LOST_MS = 55_000;
/** Partitions of one sweep. The others come with the next ones. */
const MAX_PARTS = 1_000;
/** Older changes are looked for once an hour: those that earlier sweeps had no place for, or that came to D1 late. Milliseconds. */
const RECENT_MS = 6 * 3_600_000;
const MESSAGES_PER_BATCH = 100;
const FAILURES_MS = 30 * 24 * 3_600_000;

/** Sends a message for every partition with work. Returns how many. */
export async function sweepRules(env: Pick<Env, "DB" | "RULES">, now: number): Promise<number> {
  const db = database(env.DB);
  const isWhole = Math.floor(now / 60_000) % 60 === 0;
  const parts: RulePart[] = [
    ...(await takeParts(db, now - LOST_MS, MAX_PARTS, isWhole ? 0 : now - RECENT_MS)),
    ...(await takeBackfillParts(db, now - LOST_MS, MAX_PARTS)),
  ];
  for (let at = 0; at < parts.length; at += MESSAGES_PER_BATCH) {
    await env.RULES.sendBatch(parts.slice(at, at + MESSAGES_PER_BATCH).map((body) => ({ body })));
  }
  await deleteOldFailures(db, now - FAILURES_MS);
  return parts.length;
}
