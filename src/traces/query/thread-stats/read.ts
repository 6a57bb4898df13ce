/** Statistics of threads over all days, from what each partition counts of their turns. */
import { MOST_IDS } from "../../partition/stats/thread-stats.ts";
import { DurationCounter } from "../../partition/stats/durations.ts";
import type { RunSelection } from "../../rpc.ts";
import type { ThreadStats, UsageDetail } from "../../types.ts";
import { addCount, type Counts } from "../../../limits/prices/usage.ts";
import { isoFromMicros } from "../../time.ts";
import { roundCost } from "../../../limits/prices/price-list.ts";
import { askPartitions, newBudget } from "../ask.ts";
import { Totals } from "../stats.ts";

/** The most threads that are counted, because their ids are in memory. */
const MOST_THREADS = 100_000;

type Side = UsageDetail["side"];

/** The figures of the turns that are selected. `complete` is false when there are more threads, or more days. */
export async function readThreadStats(env: Env, workspaceId: string, projectId: string, selection: RunSelection) {
  const totals = new Totals();
  const turns = new Turns();
  const all = await askPartitions(
    env,
    workspaceId,
    { projectIds: [projectId], selection, budget: newBudget() },
    (partition, own) => partition.threadStats(own),
    (part) => {
      totals.add(part);
      turns.add(part);
    },
  );
  return { ...totals.show(), ...turns.show(), complete: all && turns.isWhole };
}

/** What `Totals` does not sum. */
class Turns {
  readonly #threads = new Set<string>();
  readonly #details = new Map<Side, Counts>();
  readonly #tokens = new DurationCounter();
  #first: number | null = null;
  #end: number | null = null;
  isWhole = true;

  add({ first_start_time: first, last_end_time: end, thread_ids: ids, tokens, details }: ThreadStats): void {
    if (first !== null) this.#first = Math.min(this.#first ?? first, first);
    if (end !== null) this.#end = Math.max(this.#end ?? end, end);
    for (const id of ids) if (this.#threads.size < MOST_THREADS) this.#threads.add(id);
    if (ids.length >= MOST_IDS || this.#threads.size >= MOST_THREADS) this.isWhole = false;
    this.#tokens.addAll(tokens);
    for (const { side, kind, sum } of details) {
      const sums = this.#details.get(side) ?? {};
      this.#details.set(side, sums);
      addCount(sums, kind, sum);
    }
  }

  show() {
    const median = this.#tokens.secondsAt(0.5);
    return {
      thread_count: this.#threads.size,
      first_start_time: this.#first === null ? null : isoFromMicros(this.#first),
      last_end_time: this.#end === null ? null : isoFromMicros(this.#end),
      // The counter counts tokens in the place of microseconds.
      median_tokens: median === null ? null : Math.round(median * 1e6),
      prompt_token_details: this.#readDetails("prompt"),
      completion_token_details: this.#readDetails("completion"),
      prompt_cost_details: this.#readDetails("prompt_cost"),
      completion_cost_details: this.#readDetails("completion_cost"),
    };
  }

  #readDetails(side: Side): Counts {
    const sums = Object.entries(this.#details.get(side) ?? {});
    return Object.fromEntries(sums.map(([kind, sum]) => [kind, roundCost(sum)]));
  }
}
