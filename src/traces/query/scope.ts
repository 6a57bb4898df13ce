/** Which partitions a query has to ask, newest or oldest day first. */
import type { Database } from "../../db/client.ts";
import { requireReadable } from "../partition/read/condition.ts";
import { toDay } from "../time.ts";
import { locateAny } from "../locate.ts";
import type { RunSelection } from "../rpc.ts";
import type { PartitionLocation } from "../types.ts";
import { listDays } from "../projects/partitions.ts";

const FIRST_DAY = "0000-01-01";
const LAST_DAY = "9999-12-31";

/** The partitions that can hold what is selected, in the order of their days. */
export async function resolveScope(
  env: Env,
  db: Database,
  workspaceId: string,
  projectIds: string[],
  selection: RunSelection,
  order: "asc" | "desc",
): Promise<PartitionLocation[]> {
  const { filter, traceFilter, treeFilter } = selection;
  await requireReadable(env, workspaceId, [filter, traceFilter, treeFilter]);
  const { first, last } = windowDays(selection);
  const found = await listLocations(env, db, workspaceId, projectIds, selection, { first, last });
  const inWindow = found.filter(({ day }) => day >= first && day <= last);
  const sign = order === "asc" ? 1 : -1;
  return inWindow.sort((a, b) => sign * (a.day < b.day ? -1 : a.day > b.day ? 1 : 0));
}

async function listLocations(
  env: Env,
  db: Database,
  workspaceId: string,
  projectIds: string[],
  { ids, traceId, parentRunId }: RunSelection,
  { first, last }: { first: string; last: string },
): Promise<PartitionLocation[]> {
  const anchors = ids ?? [traceId ?? parentRunId ?? []].flat();
  if (ids || anchors.length > 0) return locateAny(env, db, workspaceId, anchors, projectIds);
  return listDays(db, workspaceId, projectIds, { first, last });
}

function windowDays({ startTime, endTime }: RunSelection): { first: string; last: string } {
  return {
    first: startTime === undefined ? FIRST_DAY : toDay(startTime),
    last: endTime === undefined ? LAST_DAY : toDay(Math.max(0, endTime - 1)),
  };
}
