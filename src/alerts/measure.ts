/** The figure of an alert: of the runs that began within its window. */
import type { AlertCondition } from "../automation/alerts/table.ts";
import { DurationCounter } from "../traces/partition/stats/durations.ts";
import { askPartitions, newBudget } from "../traces/query/stats.ts";
import type { FeedbackSum, PartitionStats } from "../traces/types.ts";
import { addSums } from "../traces/review/feedback/sums.ts";
import { roundCost } from "../limits/prices/price-list.ts";
import type { AlertRow } from "../automation/alerts/store.ts";

interface Sums {
  runs: number;
  errors: number;
  tokens: number;
  cost: number;
  latencies: DurationCounter;
  feedback: FeedbackSum | undefined;
}

const FIGURES: Record<AlertCondition["metric"], (sums: Sums, condition: AlertCondition) => number | null> = {
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
  const sums: Sums = { runs: 0, errors: 0, tokens: 0, cost: 0, latencies: new DurationCounter(), feedback: undefined };
  await askPartitions(
    env,
    workspaceId,
    { projectIds: [projectId], selection, budget: newBudget() },
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
