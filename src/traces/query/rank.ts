/** Pages of runs by a figure, over projects, days and shards. */
import { compareRanked, type RankedRun, type Ranking, type RankPosition } from "../rank-order.ts";
import type { RunSelection } from "../rpc.ts";
import { tracePartition } from "../stub.ts";
import type { LargeField, Place, QueriedRun } from "../types.ts";
import { CONNECTIONS, inParallel } from "../../lib/parallel.ts";
import { askPartitions, newBudget } from "./ask.ts";
import { loadPayloads, PAGE_BYTES } from "./find.ts";

export interface RankFind extends Ranking {
  projectIds: string[];
  selection: RunSelection;
  payloads: LargeField[];
}

interface Ranked {
  runs: QueriedRun[];
  next: RankPosition | null;
  /** False when there are more partitions than one request asks. The newest answer. */
  complete: boolean;
}

/** Each partition gives its first runs in the order, by their ids. The page is read when it is known which runs it has. */
export async function rankRuns(env: Env, workspaceId: string, ranking: RankFind): Promise<Ranked> {
  const { projectIds, selection, payloads, limit, ...order } = ranking;
  let best: (RankedRun & { place: Place })[] = [];
  const complete = await askPartitions(
    env,
    workspaceId,
    { projectIds, selection, budget: newBudget() },
    async (partition, own, place) => {
      const runs = await partition.rank({ ...own, ...order, limit: limit + 1 });
      return runs.map((run) => ({ ...run, place }));
    },
    (runs) => {
      best = [...best, ...runs].sort((a, b) => compareRanked(order.order, a, b)).slice(0, limit + 1);
    },
  );
  const page = best.slice(0, countFitting(best.slice(0, limit)));
  const last = page.at(-1);
  const places = [...Map.groupBy(page, ({ place }) => JSON.stringify(place)).values()];
  const read = await inParallel(places, CONNECTIONS, async (runs) => {
    const ids = runs.map(({ id }) => id);
    const request = { ids, order: "desc" as const, after: null, limit: ids.length, maxBytes: Infinity, payloads };
    return (await tracePartition(env, workspaceId, (runs[0] as { place: Place }).place).query(request)).runs;
  });
  const found = new Map(read.flat().map((run) => [run.id, run]));
  // A run that was deleted in the meantime is missing.
  const runs = page.flatMap(({ id }) => found.get(id) ?? []);
  const next = last && page.length < best.length ? { figure: last.figure, id: last.id } : null;
  return { runs: await loadPayloads(env, runs), next, complete };
}

/** How many runs a page has room for, at least one. */
function countFitting(runs: RankedRun[]): number {
  let bytes = 0;
  const end = runs.findIndex((run) => (bytes += run.bytes) > PAGE_BYTES);
  return end === -1 ? runs.length : Math.max(1, end);
}
