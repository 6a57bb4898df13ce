/**
 * Feedback that came before its run, to the shard that takes the run. It is taken there, then D1 names that shard, then it is
 * removed here. A move that stops in between is repeated with the next write of the run, and at each point D1 names a shard that has it.
 */
import { database } from "../../db/client.ts";
import { tracePartition } from "../stub.ts";
import type { PartitionIdentity } from "../types.ts";
import { toListed } from "../review/feedback/create.ts";
import { movePlace } from "./store.ts";

/** Feedback per RPC, as in load.ts. */
const AT_ONCE = 50;

/** Moves these feedbacks of a shard. `findShard` gives the shard that takes a run. */
export async function moveFeedback(
  env: Env,
  from: PartitionIdentity,
  ids: string[],
  findShard: (runId: string) => number | undefined,
): Promise<void> {
  const { workspaceId, projectId, day } = from;
  const here = tracePartition(env, workspaceId, from);
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    for (const feedback of await here.getFeedback(ids.slice(at, at + AT_ONCE))) {
      const shard = findShard(feedback.run_id ?? "");
      if (shard === undefined || shard === from.shard) continue;
      const place = { ...from, shard };
      if (await tracePartition(env, workspaceId, place).takeFeedback(place, feedback)) {
        await movePlace(database(env.DB), { workspaceId, projectId, day, shard, ...toListed(feedback) });
        await here.handOver(feedback);
      } else await here.deleteFeedback(feedback.id);
    }
  }
}
