/** Threads of a project: the root runs that share a thread id, over all days. */
import { database } from "../../db/client.ts";
import { type RunSelection, type ThreadSummary, tracePartition } from "../rpc.ts";
import { isoFromMicros } from "../time.ts";
import { acrossMidnight } from "./midnight.ts";
import { scopeOf } from "./scope.ts";
import { preview } from "./shape.ts";
import { percentile } from "./stats.ts";

const AT_ONCE = 6;
const MAX_PARTITIONS = 120;

/** The threads with a turn in the selection, newest turn first. */
export async function threadsOf(env: Env, workspaceId: string, projectId: string, selection: RunSelection) {
  const scope = await scopeOf(env, database(env.DB), workspaceId, [projectId], selection, "asc");
  const days = scope.slice(-MAX_PARTITIONS);
  const summaries: ThreadSummary[] = [];
  for (let i = 0; i < days.length; i += AT_ONCE) {
    const asked = days.slice(i, i + AT_ONCE);
    const lists = await Promise.all(
      asked.map(async ({ day }) => {
        const own = await acrossMidnight(env, workspaceId, { projectId, day }, selection);
        return tracePartition(env, workspaceId, projectId, day).threads(own);
      }),
    );
    summaries.push(...lists.flat());
  }
  // Oldest day first: the first summary of a thread has its first turn, the last one its last.
  const threads = Map.groupBy(summaries, ({ thread_id }) => thread_id);
  return [...threads.values()].map(shown).sort((a, b) => (a.max_start_time < b.max_start_time ? 1 : -1));
}

function shown(parts: ThreadSummary[]) {
  const [first] = parts as [ThreadSummary];
  const last = parts.at(-1) ?? first;
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
    first_inputs: preview(first.first_inputs),
    last_outputs: preview(last.last_outputs),
    last_error: last.last_error,
  };
}
