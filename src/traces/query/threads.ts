/** Threads of a project: the root runs that share a thread id, over all days. */
import * as v from "valibot";
import { Count, Time } from "../../http/shapes.ts";
import { DurationCounter } from "../partition/stats/durations.ts";
import { MOST_THREADS } from "../partition/stats/threads.ts";
import type { RunSelection } from "../rpc.ts";
import type { ThreadSummary } from "../types.ts";
import { isoFromMicros } from "../time.ts";
import { roundCost } from "../../limits/prices/price-list.ts";
import { askPartitions, newBudget } from "./ask.ts";

/** The most threads of an answer, because all are sorted in memory. */
const MOST = 10_000;
/** The most different durations of one thread that are exact. */
const MOST_EXACT = 200;

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
interface Thread extends Omit<ThreadSummary, "latencies"> {
  latencies: DurationCounter;
}

/** The threads with a turn in the selection, newest turn first. `complete` is false when there are more, or more days of them. */
export async function listThreads(env: Env, workspaceId: string, projectId: string, selection: RunSelection) {
  const threads = new Map<string, Thread>();
  let whole = true;
  const add = (part: ThreadSummary[]) => {
    if (part.length >= MOST_THREADS) whole = false;
    for (const summary of part) {
      const known = threads.get(summary.thread_id);
      if (known) addTurns(known, summary);
      else if (threads.size < MOST) threads.set(summary.thread_id, newThread(summary));
      else whole = false;
    }
  };
  const asked = { projectIds: [projectId], selection, budget: newBudget() };
  const all = await askPartitions(env, workspaceId, asked, (partition, own) => partition.threads(own), add);
  const shown = [...threads.values()].map(toWire).sort((a, b) => (a.max_start_time < b.max_start_time ? 1 : -1));
  return { threads: shown, complete: all && whole };
}

function newThread({ latencies, ...summary }: ThreadSummary): Thread {
  const counter = new DurationCounter(MOST_EXACT);
  counter.addAll(latencies);
  return { ...summary, latencies: counter };
}

/** The first turn of a thread can be in another part than its last: a day has several shards. */
function addTurns(thread: Thread, part: ThreadSummary): void {
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

function toWire({ min_start_time, max_start_time, latencies, ...thread }: Thread): v.InferOutput<typeof TracedThread> {
  return {
    ...thread,
    total_cost: roundCost(thread.total_cost),
    min_start_time: isoFromMicros(min_start_time),
    max_start_time: isoFromMicros(max_start_time),
    latency_p50: latencies.secondsAt(0.5),
    latency_p99: latencies.secondsAt(0.99),
  };
}
