/** Figures over projects, days and shards: what each partition counts, gathered. */
import { database } from "../../db/client.ts";
import { CONNECTIONS, inParallel } from "../../lib/parallel.ts";
import type { RunSelection, TracePartitionRpc } from "../rpc.ts";
import { tracePartition } from "../stub.ts";
import type { Place } from "../types.ts";
import { acrossMidnight } from "./midnight.ts";
import { resolveScope } from "./scope.ts";

/** A request makes at most 10,000 calls. Half of them are for partitions, because a call can be repeated. */
const MOST_PARTITIONS = 5_000;
/** The calls for a partition that also reads the days beside it: with a filter on the whole trace. */
const CALLS_ACROSS = 8;

/** How many partitions a request may still ask, for all of its statistics together. */
export interface Budget {
  partitions: number;
}

export const newBudget = (): Budget => ({ partitions: MOST_PARTITIONS });

/**
 * Gives what the partitions of these projects answer to `add`, the newest days first. False when there are more partitions than
 * the budget has. Then only the newest answer.
 */
export async function askPartitions<T>(
  env: Env,
  workspaceId: string,
  { projectIds, selection, budget }: { projectIds: string[]; selection: RunSelection; budget: Budget },
  ask: (partition: TracePartitionRpc, selection: RunSelection, place: Place) => Promise<T>,
  add: (answer: T) => void,
): Promise<boolean> {
  const most = MOST_PARTITIONS + 1;
  const scope = await resolveScope(env, database(env.DB), workspaceId, projectIds, selection, "desc", most);
  const calls = selection.traceFilter || selection.treeFilter ? CALLS_ACROSS : 1;
  const places = scope.slice(0, Math.floor(budget.partitions / calls));
  budget.partitions -= places.length * calls;
  // In batches, so that the answers of the newest days are added first and few wait.
  for (let at = 0; at < places.length; at += CONNECTIONS) {
    const answers = await inParallel(places.slice(at, at + CONNECTIONS), CONNECTIONS, async (place) => {
      const own = await acrossMidnight(env, workspaceId, place, selection);
      return ask(tracePartition(env, workspaceId, place), own, place);
    });
    answers.forEach(add);
  }
  return places.length === scope.length;
}
