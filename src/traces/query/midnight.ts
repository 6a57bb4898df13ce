/** `trace_filter` and `tree_filter` for traces that span midnight. */
import { database } from "../../db/client.ts";
import { CONNECTIONS, inParallel } from "../../lib/parallel.ts";
import type { RunSelection, TracePartitionRpc } from "../rpc.ts";
import { tracePartition } from "../stub.ts";
import type { PartitionLocation } from "../types.ts";
import { listPartitions } from "../projects/partitions.ts";
import { dayBounds, toDay } from "../time.ts";

/** The calls for a partition: with a filter on the whole trace, the days beside it are read, too. */
export const callsEach = ({ traceFilter, treeFilter }: RunSelection): number => (traceFilter || treeFilter ? 8 : 1);

/**
 * The selection for one partition: with filters on the whole trace, it says what the partitions of the day before and the
 * day after find of the traces that they share with it.
 */
export async function acrossMidnight(
  env: Env,
  workspaceId: string,
  location: PartitionLocation,
  selection: RunSelection,
): Promise<RunSelection> {
  const { traceFilter, treeFilter } = selection;
  if (!traceFilter && !treeFilter) return selection;
  const { start, end } = dayBounds(location.day);
  const [before, after] = [toDay(start - 1), toDay(end)];
  const held = await listPartitions(database(env.DB), workspaceId, location.projectId, before, after);
  const on = (day: string) =>
    held.filter((partition) => partition.day === day).map((partition) => tracePartition(env, workspaceId, partition));
  const [earlier, later] = [on(before), on(after)];
  const began = earlier.length > 0 ? await tracePartition(env, workspaceId, location).crossing() : [];
  const goOn = treeFilter ? await gatherRuns(later, (partition) => partition.crossing()) : [];
  const passing = async (
    partitions: TracePartitionRpc[],
    traces: string[],
    filter: string | undefined,
    root: boolean,
  ) =>
    filter && traces.length > 0
      ? gatherRuns(partitions, (partition) => partition.tracesPassing(traces, { filter, root }))
      : [];
  return {
    ...selection,
    traceElsewhere: await passing(earlier, began, traceFilter, true),
    treeElsewhere: [
      ...(await passing(earlier, began, treeFilter, false)),
      ...(await passing(later, goOn, treeFilter, false)),
    ],
  };
}

/** What the shards of a day answer, as one list. */
async function gatherRuns(
  partitions: TracePartitionRpc[],
  ask: (partition: TracePartitionRpc) => Promise<string[]>,
): Promise<string[]> {
  return (await inParallel(partitions, CONNECTIONS, ask)).flat();
}
