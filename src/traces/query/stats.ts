/** Statistics over projects and days, merged from what each partition counts. */
import * as v from "valibot";
import { AnyObject, Count, Time } from "../../http/shapes.ts";
import { addSums, showSum } from "../review/feedback/sums.ts";
import { DurationCounter } from "../partition/stats/durations.ts";
import type { RunSelection } from "../rpc.ts";
import type { FeedbackSum, PartitionStats } from "../types.ts";
import { isoFromMicros } from "../time.ts";
import { roundCost } from "../../limits/prices/price-list.ts";
import { askPartitions, type Budget, newBudget } from "./ask.ts";

/**
 * Figures as the platform's `/runs/stats` and `/sessions?include_stats=true` give them. `complete` is false when they are of the
 * newest days only.
 */
export async function projectStats(
  env: Env,
  workspaceId: string,
  projectIds: string[],
  selection: RunSelection,
  budget: Budget = newBudget(),
) {
  const totals = new Totals();
  const complete = await askPartitions(
    env,
    workspaceId,
    { projectIds, selection, budget },
    (partition, own) => partition.stats(own),
    (part) => totals.add(part),
  );
  return { ...totals.show(), complete };
}

const SUMMED = [
  "run_count",
  "error_count",
  "streaming_count",
  "total_tokens",
  "prompt_tokens",
  "completion_tokens",
  "total_cost",
  "prompt_cost",
  "completion_cost",
] as const;

const seconds = v.nullable(v.number());
const dollars = v.nullable(v.union([v.string(), v.number()]));
/** Statistics of runs in answers. */
export const RunStats = v.object({
  run_count: Count,
  latency_p50: seconds,
  latency_p99: seconds,
  first_token_p50: seconds,
  first_token_p99: seconds,
  total_tokens: Count,
  prompt_tokens: Count,
  completion_tokens: Count,
  total_cost: dollars,
  prompt_cost: dollars,
  completion_cost: dollars,
  last_run_start_time: v.nullable(Time),
  feedback_stats: v.record(v.string(), AnyObject),
  session_feedback_stats: v.record(v.string(), AnyObject),
  run_facets: v.array(AnyObject),
  error_rate: v.number(),
  streaming_rate: v.number(),
});

/** The statistics of several partitions, added up. */
export class Totals {
  readonly #sums = new Map<(typeof SUMMED)[number], number>();
  readonly #latencies = new DurationCounter();
  readonly #firstTokens = new DurationCounter();
  readonly #feedback = new Map<string, FeedbackSum>();
  #last = 0;

  add(part: PartitionStats): void {
    for (const name of SUMMED) this.#sums.set(name, this.#sum(name) + part[name]);
    this.#latencies.addAll(part.latencies);
    this.#firstTokens.addAll(part.first_tokens);
    this.#last = Math.max(this.#last, part.last_run_start_time ?? 0);
    for (const [key, sum] of Object.entries(part.feedback)) {
      const known = this.#feedback.get(key);
      this.#feedback.set(key, known ? addSums(known, sum) : sum);
    }
  }

  show() {
    const run_count = this.#sum("run_count");
    const rate = (count: number) => (run_count === 0 ? 0 : count / run_count);
    return {
      run_count,
      latency_p50: this.#latencies.secondsAt(0.5),
      latency_p99: this.#latencies.secondsAt(0.99),
      first_token_p50: this.#firstTokens.secondsAt(0.5),
      first_token_p99: this.#firstTokens.secondsAt(0.99),
      total_tokens: this.#sum("total_tokens"),
      prompt_tokens: this.#sum("prompt_tokens"),
      completion_tokens: this.#sum("completion_tokens"),
      total_cost: this.#dollars("total_cost"),
      prompt_cost: this.#dollars("prompt_cost"),
      completion_cost: this.#dollars("completion_cost"),
      last_run_start_time: this.#last === 0 ? null : isoFromMicros(this.#last),
      feedback_stats: Object.fromEntries([...this.#feedback].map(([key, sum]) => [key, showSum(sum)])),
      session_feedback_stats: {},
      run_facets: [],
      error_rate: rate(this.#sum("error_count")),
      streaming_rate: rate(this.#sum("streaming_count")),
    };
  }

  #dollars(name: "total_cost" | "prompt_cost" | "completion_cost"): string {
    return String(roundCost(this.#sum(name)));
  }

  #sum(name: (typeof SUMMED)[number]): number {
    return this.#sums.get(name) ?? 0;
  }
}
