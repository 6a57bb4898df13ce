/** Threads of a project: the root runs that share a thread id, over all days. */
import type { RunSelection } from "../rpc.ts";
import type { ThreadSummary } from "../types.ts";
import { isoFromMicros } from "../time.ts";
import { askPartitions } from "./ask.ts";
import { percentile } from "./stats.ts";

/** The threads with a turn in the selection, newest turn first. */
export async function threadsOf(env: Env, workspaceId: string, projectId: string, selection: RunSelection) {
  const summaries = await askPartitions(env, workspaceId, [projectId], selection, (partition, own) =>
    partition.threads(own),
  );
  const threads = Map.groupBy(summaries.flat(), ({ thread_id }) => thread_id);
  return [...threads.values()].map(toWire).sort((a, b) => (a.max_start_time < b.max_start_time ? 1 : -1));
}

/** The first turn of a thread can be in another part than its last: a day has several shards. */
function toWire(parts: ThreadSummary[]) {
  const first = parts.reduce((a, b) => (b.min_start_time < a.min_start_time ? b : a));
  const last = parts.reduce((a, b) => (b.max_start_time > a.max_start_time ? b : a));
  const latencies = parts.flatMap((part) => part.latencies).sort((a, b) => a - b);
  const sum = (pick: (part: ThreadSummary) => number) => parts.reduce((total, part) => total + pick(part), 0);
  return {
    thread_id: first.thread_id,
    count: sum((part) => part.count),
    min_start_time: isoFromMicros(first.min_start_time),
    max_start_time: isoFromMicros(last.max_start_time),
    total_tokens: sum((part) => part.total_tokens),
    total_cost: sum((part) => part.total_cost),
    latency_p50: percentile(latencies, 0.5),
    latency_p99: percentile(latencies, 0.99),
    first_inputs: first.first_inputs,
    last_outputs: last.last_outputs,
    last_error: last.last_error,
  };
}
