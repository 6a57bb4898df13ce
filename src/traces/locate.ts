/** Finds the partition of a run when the caller knows only its id. */
import type { Database } from "../db/client.ts";
import { uuidTime, DAY_MICROS, toDay } from "./time.ts";
import { tracePartition } from "./stub.ts";
import type { PartitionLocation, RunWrite } from "./types.ts";
import { listWorkspacePartitions } from "./projects/partitions.ts";

export interface LocateHint {
  projectId?: string;
  /** The run's start_time, microseconds. */
  start?: number;
}

/** Ids are searched on this many of the newest days of projects, each with all of its shards. */
const RECENT = 60;
/** As `RECENT`, of one project, when the caller does not know the time. */
const RECENT_OF_PROJECT = 1_000;
const AT_ONCE = 6;

/**
 * Finds runs by the time in their UUIDv7 (the day, and its neighbours), by what the caller knows, or among the most recent
 * days of the project or the workspace. Ids that are not found are absent from the answer.
 */
export async function locateRuns(
  env: Env,
  db: Database,
  workspaceId: string,
  ids: string[],
  hint: LocateHint = {},
): Promise<Map<string, PartitionLocation>> {
  const found = new Map<string, PartitionLocation>();
  await search(ids, hint.start === undefined ? uuidDays(ids) : daysAround([hint.start]));
  const missing = ids.filter((id) => !found.has(id));
  if (missing.length > 0) await search(missing, undefined);
  return found;

  async function search(wanted: string[], days: string[] | undefined): Promise<void> {
    if (days?.length === 0) return;
    const { projectId, start } = hint;
    const most = projectId !== undefined && start === undefined ? RECENT_OF_PROJECT : RECENT;
    const partitions = await listWorkspacePartitions(db, workspaceId, { days, projectId }, most);
    for (let i = 0; i < partitions.length && wanted.some((id) => !found.has(id)); i += AT_ONCE) {
      const asked = partitions.slice(i, i + AT_ONCE).map(async ({ projectId, day, shard }) => {
        const place = { projectId, day, shard };
        for (const id of await tracePartition(env, workspaceId, place).which(wanted)) found.set(id, place);
      });
      await Promise.all(asked);
    }
  }
}

function uuidDays(ids: string[]): string[] {
  return daysAround(ids.flatMap((id) => uuidTime(id) ?? []));
}

function daysAround(times: number[]): string[] {
  const days = times.flatMap((time) => [time, time - DAY_MICROS, time + DAY_MICROS].filter((t) => t >= 0).map(toDay));
  return [...new Set(days)].slice(0, 30);
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
