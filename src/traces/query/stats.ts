/** Statistics over projects and days, merged from what each partition counts. */
import { addSums, showSum } from "../feedback/sums.ts";
import type { RunSelection } from "../rpc.ts";
import type { FeedbackSum, PartitionStats } from "../types.ts";
import { isoFromMicros } from "../time.ts";
import { askPartitions } from "./ask.ts";

/** Figures as the platform's `/runs/stats` and `/sessions?include_stats=true` give them. */
export async function projectStats(env: Env, workspaceId: string, projectIds: string[], selection: RunSelection) {
  return summary(
    await askPartitions(env, workspaceId, projectIds, selection, (partition, own) => partition.stats(own)),
  );
}

function summary(parts: PartitionStats[]) {
  const sum = (pick: (part: PartitionStats) => number) => parts.reduce((total, part) => total + pick(part), 0);
  const run_count = sum((part) => part.run_count);
  const latencies = parts.flatMap((part) => part.latencies).sort((a, b) => a - b);
  const firsts = parts.flatMap((part) => part.first_tokens).sort((a, b) => a - b);
  const last = Math.max(...parts.map((part) => part.last_run_start_time ?? 0), 0);
  return {
    run_count,
    latency_p50: percentile(latencies, 0.5),
    latency_p99: percentile(latencies, 0.99),
    first_token_p50: percentile(firsts, 0.5),
    first_token_p99: percentile(firsts, 0.99),
    total_tokens: sum((part) => part.total_tokens),
    prompt_tokens: sum((part) => part.prompt_tokens),
    completion_tokens: sum((part) => part.completion_tokens),
    total_cost: String(sum((part) => part.total_cost)),
    prompt_cost: String(sum((part) => part.prompt_cost)),
    completion_cost: String(sum((part) => part.completion_cost)),
    last_run_start_time: last === 0 ? null : isoFromMicros(last),
    feedback_stats: feedbackStats(parts.map((part) => part.feedback)),
    session_feedback_stats: {},
    run_facets: [],
    error_rate: run_count === 0 ? 0 : sum((part) => part.error_count) / run_count,
    streaming_rate: run_count === 0 ? 0 : sum((part) => part.streaming_count) / run_count,
  };
}

/** Nearest rank of sorted values. */
export function percentile(sorted: number[], share: number): number | null {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null;
}

function feedbackStats(parts: Record<string, FeedbackSum>[]): Record<string, object> {
  const sums = new Map<string, FeedbackSum>();
  for (const [key, part] of parts.flatMap((feedback) => Object.entries(feedback))) {
    const sum = sums.get(key);
    sums.set(key, sum ? addSums(sum, part) : part);
  }
  return Object.fromEntries([...sums].map(([key, sum]) => [key, showSum(sum)]));
}
