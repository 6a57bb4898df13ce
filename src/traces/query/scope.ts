/** Which partitions a query has to ask, newest or oldest day first. */
import type { Database } from "../../db/client.ts";
import { Problem } from "../../http/problem.ts";
import { uuidTime } from "../dotted.ts";
import { locateRuns } from "../locate.ts";
import type { RunSelection } from "../rpc.ts";
import type { Place } from "../types.ts";
import { listPartitions, listWorkspacePartitions } from "../store/partition-store.ts";
import { DAY_MICROS, dayOf } from "../time.ts";

const FIRST_DAY = "0000-01-01";
const LAST_DAY = "9999-12-31";
/** A trace's runs are searched from the day before its id's time to this many days after. */
const TRACE_DAYS = 8;
/** Without a project, only this many of the newest days of projects are searched. */
const RECENT = 100;
const MAX_PROJECTS = 100;

/** The partitions that can hold what is selected, in the order of their days. */
export async function scopeOf(
  env: Env,
  db: Database,
  workspaceId: string,
  projectIds: string[],
  selection: RunSelection,
  order: "asc" | "desc",
): Promise<Place[]> {
  if (projectIds.length > MAX_PROJECTS) throw new Problem(422, `Request at most ${MAX_PROJECTS} projects at once.`);
  const { first, last } = daysOf(selection);
  const found =
    projectIds.length > 0
      ? await ofProjects(db, workspaceId, projectIds, first, last)
      : await withoutProject(env, db, workspaceId, selection);
  const inWindow = found.filter(({ day }) => day >= first && day <= last);
  const sign = order === "asc" ? 1 : -1;
  return inWindow.sort((a, b) => sign * (a.day < b.day ? -1 : a.day > b.day ? 1 : 0));
}

async function ofProjects(
  db: Database,
  workspaceId: string,
  projectIds: string[],
  first: string,
  last: string,
): Promise<Place[]> {
  const lists = projectIds.map((projectId) => listPartitions(db, workspaceId, projectId, first, last));
  return (await Promise.all(lists)).flat();
}

async function withoutProject(
  env: Env,
  db: Database,
  workspaceId: string,
  { ids, traceId, parentRunId }: RunSelection,
): Promise<Place[]> {
  if (ids) return distinct([...(await locateRuns(env, db, workspaceId, ids)).values()]);
  const anchor = traceId ?? parentRunId;
  if (anchor === undefined) return listWorkspacePartitions(db, workspaceId, {}, RECENT);
  const place = (await locateRuns(env, db, workspaceId, [anchor])).get(anchor);
  // The root may be missing, or never come: its descendants are found by the days of the trace.
  if (!place) return listWorkspacePartitions(db, workspaceId, {}, RECENT);
  return listPartitions(db, workspaceId, place.projectId, place.day, LAST_DAY);
}

function distinct(places: Place[]): Place[] {
  return [...new Map(places.map((place) => [`${place.projectId}/${place.day}/${place.shard}`, place])).values()];
}

/** The first and last day that the selection allows. */
function daysOf({ startTime, endTime, traceId, ids }: RunSelection): { first: string; last: string } {
  const window = {
    first: startTime === undefined ? FIRST_DAY : dayOf(startTime),
    last: endTime === undefined ? LAST_DAY : dayOf(Math.max(0, endTime - 1)),
  };
  const time = traceId === undefined || ids ? undefined : uuidTime(traceId);
  if (time === undefined) return window;
  const first = dayOf(Math.max(0, time - DAY_MICROS));
  const last = dayOf(time + TRACE_DAYS * DAY_MICROS);
  return { first: first > window.first ? first : window.first, last: last < window.last ? last : window.last };
}
