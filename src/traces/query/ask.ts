/** Figures over projects, days and shards: what each partition counts, gathered. */
import { database } from "../../db/client.ts";
import type { RunSelection, TracePartitionRpc } from "../rpc.ts";
import { tracePartition } from "../stub.ts";
import { acrossMidnight } from "./midnight.ts";
import { scopeOf } from "./scope.ts";

const AT_ONCE = 6;
/** Only the newest partitions are asked, for a request has to end. */
const MAX_PARTITIONS = 120;

/** What the partitions of these projects answer, newest day first. */
export async function askPartitions<T>(
  env: Env,
  workspaceId: string,
  projectIds: string[],
  selection: RunSelection,
  ask: (partition: TracePartitionRpc, selection: RunSelection) => Promise<T>,
): Promise<T[]> {
  const scope = await scopeOf(env, database(env.DB), workspaceId, projectIds, selection, "desc");
  const answers: T[] = [];
  for (let i = 0; i < Math.min(scope.length, MAX_PARTITIONS); i += AT_ONCE) {
    const asked = scope.slice(i, i + AT_ONCE).map(async (place) => {
      const own = await acrossMidnight(env, workspaceId, place, selection);
      return ask(tracePartition(env, workspaceId, place), own);
    });
    answers.push(...(await Promise.all(asked)));
  }
  return answers;
}
