/** The sweep of every minute: it evaluates the alerts, and reports changes. */
import type { AlertCondition, AlertState } from "./table.ts";
import { DurationCounter } from "../../traces/partition/stats/durations.ts";
import { askPartitions, newQueryBudget } from "../../traces/query/stats.ts";
import type { FeedbackSum, PartitionStats } from "../../traces/types.ts";
import { addSums } from "../../traces/review/feedback/sums.ts";
import { roundCost } from "../../limits/prices/price-list.ts";
import { type AlertRow, dueAlerts, writeEvaluation } from "./store.ts";
import { type Allowance, database } from "../../db/client.ts";
import { logError } from "../../lib/log.ts";
import { CONNECTIONS, inParallel } from "../../lib/parallel.ts";
import { toProblem } from "../../lib/problem.ts";
import { deleteOldEvents, tellReceivers } from "../../deliveries/events.ts";
import { requireReadable } from "../../traces/partition/read/condition.ts";
import { readCalls } from "./notify.ts";

// The figure of an alert: of the runs that began within its window.

interface AlertSums {
  runs: number;
  errors: number;
  tokens: number;
  cost: number;
  latencies: DurationCounter;
  feedback: FeedbackSum | undefined;
}

const FIGURES: Record<AlertCondition["metric"], (sums: AlertSums, condition: AlertCondition) => number | null> = {
  error_rate: ({ runs, errors }) => (runs === 0 ? null : errors / runs),
  latency: ({ latencies }, { percentile }) => latencies.secondsAt(percentile),
  cost: ({ cost }) => roundCost(cost),
  tokens: ({ tokens }) => tokens,
  feedback_score: ({ feedback }) => (feedback && feedback.scored > 0 ? feedback.sum / feedback.scored : null),
  run_count: ({ runs }) => runs,
};

/** The figure at `now` (milliseconds); null when there are fewer runs than the alert wants. */
export async function measure(env: Env, alert: AlertRow, now: number): Promise<number | null> {
  const { workspaceId, projectId, filter, condition } = alert;
  const selection = {
    startTime: (now - condition.windowMinutes * 60_000) * 1000,
    endTime: now * 1000,
    ...(filter !== null && { filter }),
  };
  const sums: AlertSums = {
    runs: 0,
    errors: 0,
    tokens: 0,
    cost: 0,
    latencies: new DurationCounter(),
    feedback: undefined,
  };
  await askPartitions(
    env,
    workspaceId,
    { projectIds: [projectId], selection, budget: newQueryBudget() },
    (partition, own) => partition.stats(own),
    (part: PartitionStats) => {
      sums.runs += part.run_count;
      sums.errors += part.error_count;
      sums.tokens += part.total_tokens;
      sums.cost += part.total_cost;
      sums.latencies.addAll(part.latencies);
      const own = part.feedback[condition.feedbackKey ?? ""];
      if (own) sums.feedback = sums.feedback ? addSums(sums.feedback, own) : own;
    },
  );
  const count = condition.metric === "feedback_score" ? (sums.feedback?.scored ?? 0) : sums.runs;
  return count < condition.minRuns ? null : FIGURES[condition.metric](sums, condition);
}

// The states of an alert.

/** What an evaluation found: the condition holds, it does not, or there is no figure. */
export type AlertFinding = "breach" | "clear" | "unknown";

/** For each state: the finding that leads to another one, when it comes often enough in a row. */
const TRANSITIONS: Record<AlertState, { on: AlertFinding; after: "fireAfter" | "resolveAfter"; to: AlertState }> = {
  ok: { on: "breach", after: "fireAfter", to: "firing" },
  firing: { on: "clear", after: "resolveAfter", to: "resolved" },
  resolved: { on: "breach", after: "fireAfter", to: "firing" },
};

export interface AlertProgress {
  state: AlertState;
  /** How many findings in a row have contradicted the state. */
  streak: number;
}

/** The state after a finding. One that is unknown changes nothing, so a pause of the traffic neither fires nor resolves. */
export function nextState(
  { state, streak }: AlertProgress,
  finding: AlertFinding,
  condition: Pick<AlertCondition, "fireAfter" | "resolveAfter">,
): AlertProgress {
  if (finding === "unknown") return { state, streak };
  const { on, after, to } = TRANSITIONS[state];
  if (finding !== on) return { state, streak: 0 };
  return streak + 1 >= condition[after] ? { state: to, streak: 0 } : { state, streak: streak + 1 };
}

const COMPARISONS: Record<AlertCondition["operator"], (value: number, threshold: number) => boolean> = {
  gt: (value, threshold) => value > threshold,
  gte: (value, threshold) => value >= threshold,
  lt: (value, threshold) => value < threshold,
  lte: (value, threshold) => value <= threshold,
};

export function compareValue(value: number | null, { operator, threshold }: AlertCondition): AlertFinding {
  if (value === null) return "unknown";
  return COMPARISONS[operator](value, threshold) ? "breach" : "clear";
}

/** An alert is evaluated once a minute. The clock's ticks are not exact, milliseconds. */
const EVERY_MS = 50_000;
/** Alerts of one sweep, those first that have waited longest. */
const MAX_ALERTS_AT_ONCE = 500;
const HISTORY_MS = 90 * 24 * 3_600_000;

/**
 * What earlier sweeps have left to be told is told beside the evaluations, within a part of the allowance: neither keeps the other
 * from its turn.
 */
const LEFT = { most: 50, atOnce: CONNECTIONS / 2 };

/**
 * `now`: milliseconds. An alert that cannot be evaluated keeps no other from it. Those for which the allowance is too small are the
 * first of the next sweep.
 */
export async function sweepAlerts({ env, isSpent }: Allowance, now: number, most = MAX_ALERTS_AT_ONCE): Promise<void> {
  const db = database(env.DB);
  const due = await dueAlerts(db, now - EVERY_MS, most);
  await Promise.all([
    tellReceivers({ env, isSpent }, now, readCalls, LEFT),
    inParallel(due, LEFT.atOnce, async (alert) => {
      if (isSpent()) return;
      try {
        await evaluate(env, alert, now);
      } catch (error) {
        logError(error, { alert: alert.id });
      }
    }),
  ]);
  await tellReceivers({ env, isSpent }, now, readCalls);
  await deleteOldEvents(db, now - HISTORY_MS);
}

/** An alert that cannot be measured keeps its state, says why, and waits as long as the others for its next turn. */
async function evaluate(env: Env, alert: AlertRow, now: number): Promise<void> {
  const db = database(env.DB);
  const { state, streak, value: before } = alert;
  try {
    await requireReadable(env, alert.workspaceId, [alert.filter]);
    const value = await measure(env, alert, now);
    const next = nextState(alert, compareValue(value, alert.condition), alert.condition);
    await writeEvaluation(db, alert, { ...next, value, error: null, at: now });
  } catch (failure) {
    const { status, detail } = toProblem(failure);
    const error = status < 500 ? detail : "The server failed to evaluate the alert; it has been logged.";
    await writeEvaluation(db, alert, { state, streak, value: before, error, at: now });
    throw failure;
  }
}
