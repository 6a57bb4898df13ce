/** Finds the partition of a run when the caller knows only its id. */
import type { Database } from "../db/client.ts";
import { uuidTime } from "./dotted.ts";
import { tracePartition } from "./stub.ts";
import type { Place } from "./types.ts";
import { listWorkspacePartitions } from "./projects/partitions.ts";
import { DAY_MICROS, toDay } from "./time.ts";

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
): Promise<Map<string, Place>> {
  const found = new Map<string, Place>();
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
