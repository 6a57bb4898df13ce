/** Threads of a project: the root runs that share a thread id, over all days. */
import * as v from "valibot";
import { Count, Time } from "../../http/shapes.ts";
import { DurationCounter } from "../partition/stats/durations.ts";
import { MAX_LISTED_THREADS as MOST_THREADS_OF_PARTITION, MAX_IDS } from "../partition/stats/stats.ts";
import type { RunSelection } from "../rpc.ts";
import type { ThreadSummary, ThreadStats, UsageDetail } from "../types.ts";
import { isoFromMicros } from "../time.ts";
import { roundCost } from "../../limits/prices/price-list.ts";
import { askPartitions, newQueryBudget, StatsTotals } from "./stats.ts";
import { addCount, type UsageCounts } from "../../limits/prices/usage.ts";

/** The most threads of an answer, because all are sorted in memory. */
const MAX_SORTED_THREADS = 10_000;
/** The most different durations of one thread that are exact. */
const MAX_EXACT = 200;

const text = v.nullable(v.string());
export const TracedThread = v.pipe(
  v.object({
    thread_id: v.string(),
    count: Count,
    min_start_time: Time,
    max_start_time: Time,
    total_tokens: Count,
    total_cost: v.number(),
    first_inputs: text,
    last_outputs: text,
    last_error: text,
    latency_p50: v.nullable(v.number()),
    latency_p99: v.nullable(v.number()),
  }),
  v.title("TracedThread"),
);

/** A thread with the turns of all partitions so far. */
interface ThreadTurns extends Omit<ThreadSummary, "latencies"> {
  latencies: DurationCounter;
}

/**
 * The threads with a turn in the selection, newest turn first; or by their first turn, newest first, an order that further turns do
 * not change. `complete` is false when there are more, or more days of them. */
export async function listThreads(
  env: Env,
  workspaceId: string,
  projectId: string,
  selection: RunSelection,
  by: "max_start_time" | "min_start_time" = "max_start_time",
) {
  const threads = new Map<string, ThreadTurns>();
  let whole = true;
  const add = (part: ThreadSummary[]) => {
    if (part.length >= MOST_THREADS_OF_PARTITION) whole = false;
    for (const summary of part) {
      const known = threads.get(summary.thread_id);
      if (known) addTurns(known, summary);
      else if (threads.size < MAX_SORTED_THREADS) threads.set(summary.thread_id, newThread(summary));
      else whole = false;
    }
  };
  const asked = { projectIds: [projectId], selection, budget: newQueryBudget() };
  const all = await askPartitions(env, workspaceId, asked, (partition, own) => partition.threads(own), add);
  const shown = [...threads.values()]
    .map(toWire)
    .sort((a, b) => compareThreads([a[by], a.thread_id], [b[by], b.thread_id]));
  return { threads: shown, complete: all && whole };
}

/** By time, newest first, then by id. */
export function compareThreads([a, id]: [time: string, id: string], [b, other]: [time: string, id: string]): number {
  if (a !== b) return a < b ? 1 : -1;
  return id === other ? 0 : id < other ? -1 : 1;
}

function newThread({ latencies, ...summary }: ThreadSummary): ThreadTurns {
  const counter = new DurationCounter(MAX_EXACT);
  counter.addAll(latencies);
  return { ...summary, latencies: counter };
}

/** The first turn of a thread can be in another part than its last: a day has several shards. */
function addTurns(thread: ThreadTurns, part: ThreadSummary): void {
  thread.count += part.count;
  thread.total_tokens += part.total_tokens;
  thread.total_cost += part.total_cost;
  thread.latencies.addAll(part.latencies);
  if (part.min_start_time < thread.min_start_time) {
    thread.min_start_time = part.min_start_time;
    thread.first_inputs = part.first_inputs;
  }
  if (part.max_start_time > thread.max_start_time) {
    thread.max_start_time = part.max_start_time;
    thread.last_outputs = part.last_outputs;
    thread.last_error = part.last_error;
  }
}

function toWire({
  min_start_time,
  max_start_time,
  latencies,
  ...thread
}: ThreadTurns): v.InferOutput<typeof TracedThread> {
  return {
    ...thread,
    total_cost: roundCost(thread.total_cost),
    min_start_time: isoFromMicros(min_start_time),
    max_start_time: isoFromMicros(max_start_time),
    latency_p50: latencies.secondsAt(0.5),
    latency_p99: latencies.secondsAt(0.99),
  };
}

// Statistics of threads over all days, from what each partition counts of their turns.

/** The most threads that are counted, because their ids are in memory. */
const MAX_COUNTED_THREADS = 100_000;

type Side = UsageDetail["side"];

/** The figures of the turns that are selected. `complete` is false when there are more threads, or more days. */
export async function readThreadStats(env: Env, workspaceId: string, projectId: string, selection: RunSelection) {
  const totals = new StatsTotals();
  const turns = new Turns();
  const all = await askPartitions(
    env,
    workspaceId,
    { projectIds: [projectId], selection, budget: newQueryBudget() },
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
  readonly #details = new Map<Side, UsageCounts>();
  readonly #tokens = new DurationCounter();
  #first: number | null = null;
  #end: number | null = null;
  isWhole = true;

  add({ first_start_time: first, last_end_time: end, thread_ids: ids, tokens, details }: ThreadStats): void {
    if (first !== null) this.#first = Math.min(this.#first ?? first, first);
    if (end !== null) this.#end = Math.max(this.#end ?? end, end);
    for (const id of ids) if (this.#threads.size < MAX_COUNTED_THREADS) this.#threads.add(id);
    if (ids.length >= MAX_IDS || this.#threads.size >= MAX_COUNTED_THREADS) this.isWhole = false;
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

  #readDetails(side: Side): UsageCounts {
    const sums = Object.entries(this.#details.get(side) ?? {});
    return Object.fromEntries(sums.map(([kind, sum]) => [kind, roundCost(sum)]));
  }
}
