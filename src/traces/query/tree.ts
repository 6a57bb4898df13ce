/** Reads the tree of a trace over the partitions that can hold it. */
import { database } from "../../db/client.ts";
import { tracePartition } from "../stub.ts";
import type { TreeRun } from "../types.ts";
import { AT_ONCE } from "./find.ts";
import { MOST_OF_TRACE } from "./schema.ts";
import { resolveScope } from "./scope.ts";

/** The first runs of a trace, each after its parent. Without a project, the trace is looked for in all of them. */
export async function readTree(
  env: Env,
  workspaceId: string,
  projectIds: string[],
  traceId: string,
  limit: number,
): Promise<TreeRun[]> {
  const scope = await resolveScope(env, database(env.DB), workspaceId, projectIds, { traceId }, "asc");
  const runs: TreeRun[] = [];
  for (let i = 0; i < scope.length && runs.length < MOST_OF_TRACE; i += AT_ONCE) {
    const places = scope.slice(i, i + AT_ONCE);
    const asked = places.map((place) => tracePartition(env, workspaceId, place).tree(traceId, limit));
    for (const found of await Promise.all(asked)) runs.push(...found);
  }
  runs.sort((a, b) => (a.dotted_order < b.dotted_order ? -1 : a.dotted_order > b.dotted_order ? 1 : 0));
  return runs.slice(0, limit);
}
