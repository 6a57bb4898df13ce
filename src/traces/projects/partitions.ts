/** D1: the projection of which days of a project hold runs, and in which shards. */
import { and, asc, desc, eq, gt, gte, lte, max, min, type SQL, sql } from "drizzle-orm";
import { inList } from "../../db/conditions.ts";
import type { Database } from "../../db/client.ts";
import { projects, tracePartitions } from "./table.ts";
import type { ProjectDay } from "../lookup/rpc.ts";
import type { PartitionLocation } from "../types.ts";

export type PartitionRow = typeof tracePartitions.$inferSelect;

function ofProject(workspaceId: string, projectId: string | undefined): SQL | undefined {
  const ofWorkspace = eq(tracePartitions.workspaceId, workspaceId);
  return projectId === undefined ? ofWorkspace : and(ofWorkspace, eq(tracePartitions.projectId, projectId));
}

/** The days of all projects of a workspace, each once. */
export async function listAllDays(db: Database, workspaceId: string): Promise<ProjectDay[]> {
  const { projectId, day } = tracePartitions;
  return db.selectDistinct({ projectId, day }).from(tracePartitions).where(ofProject(workspaceId, undefined)).all();
}

/** The shards of days of projects. Days that hold nothing have none. */
export async function listShardsOfDays(
  db: Database,
  workspaceId: string,
  days: ProjectDay[],
): Promise<PartitionLocation[]> {
  if (days.length === 0) return [];
  const { projectId, day, shard } = tracePartitions;
  const list = JSON.stringify(days.map((one) => [one.projectId, one.day]));
  return db
    .select({ projectId, day, shard })
    .from(tracePartitions)
    .where(
      and(
        ofProject(workspaceId, undefined),
        sql`(${projectId}, ${day}) IN (SELECT value ->> 0, value ->> 1 FROM json_each(${list}))`,
      ),
    )
    .all();
}

/** Writes what a partition counted last. */
export async function savePartition(db: Database, row: PartitionRow): Promise<void> {
  const { rows, bytes, lastRunStartTime, changes } = row;
  await db
    .insert(tracePartitions)
    .values(row)
    .onConflictDoUpdate({
      target: [tracePartitions.workspaceId, tracePartitions.projectId, tracePartitions.day, tracePartitions.shard],
      set: { rows, bytes, lastRunStartTime, changes },
    });
}

/**
 * Makes the row of a partition that has no runs yet. Changes nothing when it has one. False when its project does not exist. One
 * statement does both, because a project can be deleted at the same time (`deleteProject`).
 */
export async function announcePartition(
  db: Database,
  { workspaceId, projectId, day, shard }: Pick<PartitionRow, "workspaceId" | "projectId" | "day" | "shard">,
): Promise<boolean> {
  const made = await db.all(
    sql`INSERT INTO ${tracePartitions} (workspace_id, project_id, day, shard, "rows", bytes, last_run_start_time)
        SELECT workspace_id, id, ${day}, ${shard}, 0, 0, 0 FROM ${projects}
        WHERE ${and(eq(projects.workspaceId, workspaceId), eq(projects.id, projectId))}
        ON CONFLICT DO UPDATE SET "rows" = ${tracePartitions.rows} RETURNING 1`,
  );
  return made.length > 0;
}

export async function deletePartition(
  db: Database,
  workspaceId: string,
  { projectId, day, shard }: PartitionLocation,
): Promise<void> {
  await db
    .delete(tracePartitions)
    .where(and(ofProject(workspaceId, projectId), eq(tracePartitions.day, day), eq(tracePartitions.shard, shard)));
}

/** The days of these projects, or of all when none is named, within a window, newest first. */
export async function listDays(
  db: Database,
  workspaceId: string,
  projectIds: string[],
  { first, last, most }: { first: string; last: string; most?: number },
): Promise<PartitionRow[]> {
  const days = db
    .select()
    .from(tracePartitions)
    .where(
      and(
        eq(tracePartitions.workspaceId, workspaceId),
        projectIds.length > 0 ? inList(tracePartitions.projectId, projectIds) : undefined,
        gte(tracePartitions.day, first),
        lte(tracePartitions.day, last),
      ),
    )
    .orderBy(desc(tracePartitions.day));
  return most === undefined ? days.all() : days.limit(most).all();
}

/** The days of a project that hold runs, with their shards, oldest first, from `firstDay` to `lastDay` (YYYY-MM-DD, both included). */
export async function listPartitions(
  db: Database,
  workspaceId: string,
  projectId: string,
  firstDay: string,
  lastDay: string,
): Promise<PartitionRow[]> {
  return db
    .select()
    .from(tracePartitions)
    .where(
      and(ofProject(workspaceId, projectId), gte(tracePartitions.day, firstDay), lte(tracePartitions.day, lastDay)),
    )
    .orderBy(asc(tracePartitions.day), asc(tracePartitions.shard))
    .all();
}

export async function allLocations(db: Database, workspaceId: string, projectId: string): Promise<PartitionLocation[]> {
  const { projectId: project, day, shard } = tracePartitions;
  return db
    .select({ projectId: project, day, shard })
    .from(tracePartitions)
    .where(ofProject(workspaceId, projectId))
    .all();
}

/** The shard of a day after this one, or undefined when it is the last. */
export async function nextShard(
  db: Database,
  workspaceId: string,
  { projectId, day, shard }: PartitionLocation,
): Promise<number | undefined> {
  const row = await db
    .select({ next: min(tracePartitions.shard) })
    .from(tracePartitions)
    .where(and(ofProject(workspaceId, projectId), eq(tracePartitions.day, day), gt(tracePartitions.shard, shard)))
    .get();
  return row?.next ?? undefined;
}

export async function somePartitions(
  db: Database,
  workspaceId: string,
  projectId: string,
  limit: number,
): Promise<PartitionRow[]> {
  return db.select().from(tracePartitions).where(ofProject(workspaceId, projectId)).limit(limit).all();
}

/** start_time of a project's newest run, milliseconds. Null when it has none. A day without runs has 0. */
export async function lastRunTime(db: Database, workspaceId: string, projectId: string): Promise<number | null> {
  const row = await db
    .select({ last: max(tracePartitions.lastRunStartTime) })
    .from(tracePartitions)
    .where(ofProject(workspaceId, projectId))
    .get();
  return row?.last || null;
}
