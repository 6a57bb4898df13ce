/** `trace_filter` and `tree_filter` for traces that span midnight. */
import { database } from "../../db/client.ts";
import type { Place } from "../locate.ts";
import { type RunSelection, tracePartition } from "../rpc.ts";
import { listPartitions } from "../store.ts";
import { dayBounds, dayOf } from "../time.ts";

/**
 * The selection for one partition: with filters on the whole trace, it says what the partitions of the day before and the
 * day after find of the traces that they share with it.
 */
export async function acrossMidnight(
  env: Env,
  workspaceId: string,
  { projectId, day }: Place,
  selection: RunSelection,
): Promise<RunSelection> {
  const { traceFilter, treeFilter } = selection;
  if (!traceFilter && !treeFilter) return selection;
  const { start, end } = dayBounds(day);
  const [before, after] = [dayOf(start - 1), dayOf(end)];
  const held = await listPartitions(database(env.DB), workspaceId, projectId, before, after);
  const at = (wanted: string) =>
    held.some((partition) => partition.day === wanted)
      ? tracePartition(env, workspaceId, projectId, wanted)
      : undefined;
  const [earlier, later] = [at(before), at(after)];
  const shared = {
    earlier: earlier ? await tracePartition(env, workspaceId, projectId, day).crossing() : [],
    later: (treeFilter && (await later?.crossing())) || [],
  };
  const passing = async (partition: typeof earlier, traces: string[], filter: string | undefined, root: boolean) =>
    partition && filter && traces.length > 0 ? partition.tracesPassing(traces, { filter, root }) : [];
  return {
    ...selection,
    traceElsewhere: await passing(earlier, shared.earlier, traceFilter, true),
    treeElsewhere: [
      ...(await passing(earlier, shared.earlier, treeFilter, false)),
      ...(await passing(later, shared.later, treeFilter, false)),
    ],
  };
}
