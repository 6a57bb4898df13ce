import { tracePartition } from "../stub.ts";
import type { StoredFeedback } from "../types.ts";
import type { FeedbackPlace } from "./store.ts";

/** Feedback per RPC. In UTF-16 it stays below the 32 MiB of an RPC message. */
const AT_ONCE = 50;

/** The feedback of these places, in their order. */
export async function loadFeedback(env: Env, workspaceId: string, places: FeedbackPlace[]): Promise<StoredFeedback[]> {
  const groups = Map.groupBy(places, ({ projectId, day, shard }) => `${projectId}/${day}/${shard}`);
  const loaded = await Promise.all(
    [...groups.values()].map(async (group) => {
      const partition = tracePartition(env, workspaceId, group[0] as FeedbackPlace);
      const loaded: StoredFeedback[] = [];
      for (let i = 0; i < group.length; i += AT_ONCE) {
        loaded.push(...(await partition.getFeedback(group.slice(i, i + AT_ONCE).map(({ id }) => id))));
      }
      return loaded;
    }),
  );
  const byId = new Map(loaded.flat().map((item) => [item.id, item]));
  return places.flatMap(({ id }) => byId.get(id) ?? []);
}
