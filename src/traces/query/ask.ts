/** Figures over projects, days and shards: what each partition counts, gathered. */
import { database } from "../../db/client.ts";
import type { RunSelection, TracePartitionRpc } from "../rpc.ts";
import { tracePartition } from "../stub.ts";
import type { Place } from "../types.ts";
import { acrossMidnight } from "./midnight.ts";
import { scopeOf } from "./scope.ts";

const AT_ONCE = 6;
/**
 * The most days of projects that one query reads, because a request has a limited number of subrequests. Each has up to
 * 64 shards.
 */
const MOST_DAYS = 120;

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
  const places = onFirstDays(scope, MOST_DAYS);
  for (let i = 0; i < places.length; i += AT_ONCE) {
    const asked = places.slice(i, i + AT_ONCE).map(async (place) => {
      const own = await acrossMidnight(env, workspaceId, place, selection);
      return ask(tracePartition(env, workspaceId, place), own);
    });
    answers.push(...(await Promise.all(asked)));
  }
  return answers;
}

/** The partitions on the first `most` days of projects. */
function onFirstDays(places: Place[], most: number): Place[] {
  const keyOf = ({ projectId, day }: Place) => `${projectId}/${day}`;
  const first = new Set([...new Set(places.map(keyOf))].slice(0, most));
  return places.filter((place) => first.has(keyOf(place)));
}
