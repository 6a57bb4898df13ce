/** Which partitions a query has to ask, newest or oldest day first. */
import type { Database } from "../../db/client.ts";
import { CONNECTIONS, inParallel } from "../../lib/parallel.ts";
import { Problem } from "../../lib/problem.ts";
import { requireReadable } from "../partition/read/condition.ts";
import { uuidTime, DAY_MICROS, toDay } from "../time.ts";
import { locateRuns } from "../locate.ts";
import type { RunSelection } from "../rpc.ts";
import { tracePartition } from "../stub.ts";
import type { PartitionLocation } from "../types.ts";
import { listPartitions, listWorkspacePartitions } from "../projects/partitions.ts";

const FIRST_DAY = "0000-01-01";
const LAST_DAY = "9999-12-31";
/** A trace's runs are searched from the day before its id's time to this many days after. */
const TRACE_DAYS = 8;
/** Without a project, only this many of the newest days of projects are searched. */
const RECENT = 100;
const MAX_PROJECTS = 100;

/**
 * The partitions that can hold what is selected, in the order of their days. `recent`: the most days of projects that are searched
 * without a project.
 */
export async function resolveScope(
  env: Env,
  db: Database,
  workspaceId: string,
  projectIds: string[],
  selection: RunSelection,
  order: "asc" | "desc",
  recent = RECENT,
): Promise<PartitionLocation[]> {
  if (projectIds.length > MAX_PROJECTS) throw new Problem(422, `Request at most ${MAX_PROJECTS} projects at once.`);
  const { filter, traceFilter, treeFilter } = selection;
  await requireReadable(env, workspaceId, [filter, traceFilter, treeFilter]);
  const { first, last } = windowDays(selection);
  const found =
    projectIds.length > 0
      ? await locationsOfProjects(db, workspaceId, projectIds, first, last)
      : await withoutProject(env, db, workspaceId, selection, recent);
  const inWindow = found.filter(({ day }) => day >= first && day <= last);
  const wanted = await locationsOfTrace(env, workspaceId, inWindow, selection);
  const sign = order === "asc" ? 1 : -1;
  return wanted.sort((a, b) => sign * (a.day < b.day ? -1 : a.day > b.day ? 1 : 0));
}

/**
 * The partitions around the time in the id of a trace, if one of them has its root. A random id can look like one with a time,
 * and a trace that is sent again can have new days and its old id: its days are then not known.
 */
async function locationsOfTrace(
  env: Env,
  workspaceId: string,
  locations: PartitionLocation[],
  selection: RunSelection,
): Promise<PartitionLocation[]> {
  const { traceId, ids } = selection;
  const time = traceId === undefined || ids ? undefined : uuidTime(traceId);
  if (traceId === undefined || time === undefined) return locations;
  const first = toDay(Math.max(0, time - DAY_MICROS));
  const next = toDay(time + DAY_MICROS);
  const last = toDay(time + TRACE_DAYS * DAY_MICROS);
  const near = locations.filter(({ day }) => day >= first && day <= last);
  if (near.length === locations.length) return locations;
  const asked = near.filter(({ day }) => day <= next);
  const held = await inParallel(asked, CONNECTIONS, (location) =>
    tracePartition(env, workspaceId, location).which([traceId]),
  );
  return held.flat().length > 0 ? near : locations;
}

async function locationsOfProjects(
  db: Database,
  workspaceId: string,
  projectIds: string[],
  first: string,
  last: string,
): Promise<PartitionLocation[]> {
  const lists = projectIds.map((projectId) => listPartitions(db, workspaceId, projectId, first, last));
  return (await Promise.all(lists)).flat();
}

async function withoutProject(
  env: Env,
  db: Database,
  workspaceId: string,
  { ids, traceId, parentRunId }: RunSelection,
  recent: number,
): Promise<PartitionLocation[]> {
  if (ids) return dropDuplicates([...(await locateRuns(env, db, workspaceId, ids)).values()]);
  const anchor = traceId ?? parentRunId;
  if (anchor === undefined) return listWorkspacePartitions(db, workspaceId, {}, recent);
  const location = (await locateRuns(env, db, workspaceId, [anchor])).get(anchor);
  // The root may be missing, or never come: its descendants are found by the days of the trace.
  if (!location) return listWorkspacePartitions(db, workspaceId, {}, recent);
  return listPartitions(db, workspaceId, location.projectId, location.day, LAST_DAY);
}

function dropDuplicates(locations: PartitionLocation[]): PartitionLocation[] {
  return [
    ...new Map(
      locations.map((location) => [`${location.projectId}/${location.day}/${location.shard}`, location]),
    ).values(),
  ];
}

function windowDays({ startTime, endTime }: RunSelection): { first: string; last: string } {
  return {
    first: startTime === undefined ? FIRST_DAY : toDay(startTime),
    last: endTime === undefined ? LAST_DAY : toDay(Math.max(0, endTime - 1)),
  };
}
