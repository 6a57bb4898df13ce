/** Finds the partitions of runs and traces when the caller knows only their ids: the index names the days, the partitions tell. */
import type { Database } from "../db/client.ts";
import { CONNECTIONS, inParallel } from "../lib/parallel.ts";
import { hashIds } from "./lookup/entries.ts";
import { type FoundDays, type ProjectDay, traceIndex } from "./lookup/rpc.ts";
import { listShardsOfDays } from "./projects/partitions.ts";
import { tracePartition } from "./stub.ts";
import type { PartitionLocation, RunWrite } from "./types.ts";

/** What is known of ids. An id in none of them is of no run. */
export interface LookUp {
  held: Map<string, PartitionLocation>;
  /** The ids of traces that have a run there: their roots may be missing. */
  traces: Map<string, PartitionLocation>;
  /** The ids of deleted traces and their runs, with the partition that has the deletion. */
  deleted: Map<string, PartitionLocation>;
  /** The ids that only deleted projects have had. */
  ofDeletedProjects: Set<string>;
}

const dayKey = ({ projectId, day }: ProjectDay) => `${projectId}/${day}`;

/** Looks runs up, over all projects and days of the workspace, or over those of one project. */
export async function lookUpRuns(
  env: Env,
  db: Database,
  workspaceId: string,
  ids: string[],
  projectId?: string,
): Promise<LookUp> {
  const known: LookUp = { held: new Map(), traces: new Map(), deleted: new Map(), ofDeletedProjects: new Set() };
  if (ids.length === 0) return known;
  const index = await traceIndex(env, workspaceId).find(hashIds(ids));
  const wanted = Map.groupBy(
    ids.flatMap((id, at) => daysWith(index, at).map((day) => ({ id, day: dayKey(day) }))),
    ({ day }) => day,
  );
  const isAsked = (day: ProjectDay) =>
    wanted.has(dayKey(day)) && (projectId === undefined || day.projectId === projectId);
  const shards = await listShardsOfDays(db, workspaceId, index.days.filter(isAsked));
  await inParallel(shards, CONNECTIONS, async (location) => {
    const own = wanted.get(dayKey(location))?.map(({ id }) => id) ?? [];
    const { held, traces, deleted } = await tracePartition(env, workspaceId, location).lookUp(own);
    for (const id of held) known.held.set(id, location);
    for (const id of traces) known.traces.set(id, location);
    for (const id of deleted) known.deleted.set(id, location);
  });
  for (const [at, id] of ids.entries()) {
    const days = (index.found[at] ?? []).flatMap((day) => index.days[day] ?? []);
    if (days.length > 0 && days.every(({ isDeleted }) => isDeleted)) known.ofDeletedProjects.add(id);
  }
  return known;
}

/** The partitions of runs. Ids that are not found are absent. */
export async function locateRuns(
  env: Env,
  db: Database,
  workspaceId: string,
  ids: string[],
  projectId?: string,
): Promise<Map<string, PartitionLocation>> {
  return (await lookUpRuns(env, db, workspaceId, ids, projectId)).held;
}

/** The partitions that can have these runs, runs of these traces or children of these runs. No project: all of the workspace. */
export async function locateAny(
  env: Env,
  db: Database,
  workspaceId: string,
  ids: string[],
  projectIds: string[],
): Promise<PartitionLocation[]> {
  const index = await traceIndex(env, workspaceId).find(hashIds(ids));
  const asked = new Set(projectIds);
  const days = new Map(ids.flatMap((_, at) => daysWith(index, at).map((day) => [dayKey(day), day])));
  const isAsked = ({ projectId }: ProjectDay) => asked.size === 0 || asked.has(projectId);
  return listShardsOfDays(db, workspaceId, [...days.values()].filter(isAsked));
}

/** The days that can have the id at a position: those of the index, and those that it has not read yet. */
function daysWith({ days, found, unread }: FoundDays, at: number): ProjectDay[] {
  return [...new Set([...(found[at] ?? []), ...unread])].flatMap((day) => {
    const one = days[day];
    return one && !one.isDeleted ? one : [];
  });
}

// The shards of a project's day. A day is one partition, shard 0, until that is full or overloaded. Then the number of shards
// doubles: 1, 2, 4, and so on. The new half takes the traces that begin after that. A trace stays in the shard that holds it.

/** The most shards of a day: seven generations, which hold about 500 GB. */
export const MAX_SHARDS = 64;

/** What a shard puts before the ids of feedback that it names beside those of runs and traces. */
export const EARLY = "feedback/";

/**
 * The shards that can hold a trace, oldest generation first: one of each generation, chosen by the trace's id. The last
 * one takes the trace when no other holds it.
 */
export function listShards(trace: string, shards: number): number[] {
  const hash = hashTrace(trace);
  const found = [0];
  for (let first = 1; first < shards; first *= 2) found.push(first + (hash % first));
  return found;
}

/** Whether a shard takes only runs of the traces that it holds: it is of an older generation. */
export function isClosed(shard: number, shards: number): boolean {
  return shard < shards >> 1;
}

/** The ids by which a shard finds a run: its own, its trace's and its parent's. */
export function lookupIds({ id, trace_id, parent_run_id }: RunWrite): string[] {
  return [id, trace_id, parent_run_id].filter((one) => one !== undefined);
}

/** The trace of a run. Undefined when it is that of its parent, which the run does not name. */
export function findTraceId({ id, trace_id, parent_run_id }: RunWrite): string | undefined {
  return trace_id ?? (parent_run_id === undefined ? id : undefined);
}

/** FNV-1a, 32 bits. */
function hashTrace(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
