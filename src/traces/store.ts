/** D1: projects and the projection of which days hold runs. */
import { and, asc, desc, eq, gt, gte, isNotNull, isNull, lte, max, min, type SQL, sql } from "drizzle-orm";
import { inList } from "../db/in-list.ts";
import type { Database } from "../db/client.ts";
import { projects, traceDeletions, tracePartitions } from "../db/schema.ts";
import type { Place } from "./types.ts";

export type ProjectRow = typeof projects.$inferSelect;
export type PartitionRow = typeof tracePartitions.$inferSelect;

export async function findProject(db: Database, workspaceId: string, id: string): Promise<ProjectRow | undefined> {
  return db
    .select()
    .from(projects)
    .where(and(eq(projects.workspaceId, workspaceId), eq(projects.id, id)))
    .get();
}

export async function findProjectByName(
  db: Database,
  workspaceId: string,
  name: string,
): Promise<ProjectRow | undefined> {
  return db
    .select()
    .from(projects)
    .where(and(eq(projects.workspaceId, workspaceId), eq(projects.name, name)))
    .get();
}

/** Inserts the project; undefined when the workspace has one of that name (or the id is taken). */
export async function insertProject(db: Database, row: ProjectRow): Promise<ProjectRow | undefined> {
  return db.insert(projects).values(row).onConflictDoNothing().returning().get();
}

function ofProject(workspaceId: string, projectId: string | undefined): SQL | undefined {
  const ofWorkspace = eq(tracePartitions.workspaceId, workspaceId);
  return projectId === undefined ? ofWorkspace : and(ofWorkspace, eq(tracePartitions.projectId, projectId));
}

/**
 * The partitions of a workspace's projects on the given days, or on all days, newest first. `most` limits the days of projects,
 * not the partitions: each day comes with all of its shards.
 */
export async function listWorkspacePartitions(
  db: Database,
  workspaceId: string,
  where: { days?: string[]; projectId?: string },
  most: number,
): Promise<PartitionRow[]> {
  const { projectId, day, lastRunStartTime } = tracePartitions;
  const wanted = and(ofProject(workspaceId, where.projectId), where.days && inList(day, where.days));
  const newest = db
    .select({ projectId, day })
    .from(tracePartitions)
    .where(wanted)
    .groupBy(projectId, day)
    .orderBy(desc(day), desc(max(lastRunStartTime)))
    .limit(most);
  return db
    .select()
    .from(tracePartitions)
    .where(and(wanted, sql`(${projectId}, ${day}) IN ${newest}`))
    .orderBy(desc(day), desc(lastRunStartTime))
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

/** Makes the row of a partition that has no runs yet. Changes nothing when it has one. */
export async function announcePartition(
  db: Database,
  partition: Pick<PartitionRow, "workspaceId" | "projectId" | "day" | "shard">,
): Promise<void> {
  const row = { ...partition, rows: 0, bytes: 0, lastRunStartTime: 0, changes: 0 };
  await db.insert(tracePartitions).values(row).onConflictDoNothing();
}

export async function deletePartition(
  db: Database,
  workspaceId: string,
  { projectId, day, shard }: Place,
): Promise<void> {
  await db
    .delete(tracePartitions)
    .where(and(ofProject(workspaceId, projectId), eq(tracePartitions.day, day), eq(tracePartitions.shard, shard)));
}

/** The ids of the projects with a reference dataset, as they are now, by start time. */
export async function listExperiments(db: Database, workspaceId: string): Promise<string[]> {
  const rows = await db
    .select({ id: projects.id })
    .from(projects)
    .where(and(eq(projects.workspaceId, workspaceId), isNotNull(projects.referenceDatasetId)))
    .orderBy(asc(projects.startTime), asc(projects.id))
    .all();
  return rows.map(({ id }) => id);
}

/** The days of these projects, or of all when none is named, within a window, newest first. */
export async function listDays(
  db: Database,
  workspaceId: string,
  projectIds: string[],
  { first, last, most }: { first: string; last: string; most: number },
): Promise<PartitionRow[]> {
  return db
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
    .orderBy(desc(tracePartitions.day))
    .limit(most)
    .all();
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

/** All partitions of a project. */
export async function allPlaces(db: Database, workspaceId: string, projectId: string): Promise<Place[]> {
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
  { projectId, day, shard }: Place,
): Promise<number | undefined> {
  const row = await db
    .select({ next: min(tracePartitions.shard) })
    .from(tracePartitions)
    .where(and(ofProject(workspaceId, projectId), eq(tracePartitions.day, day), gt(tracePartitions.shard, shard)))
    .get();
  return row?.next ?? undefined;
}

/** Some partitions of a project. */
export async function somePartitions(
  db: Database,
  workspaceId: string,
  projectId: string,
  limit: number,
): Promise<PartitionRow[]> {
  return db.select().from(tracePartitions).where(ofProject(workspaceId, projectId)).limit(limit).all();
}

export interface ProjectsWanted {
  id?: string[];
  name?: string;
  name_contains?: string;
  reference_dataset?: string[];
  reference_free?: boolean;
  /** Entries that `extra.metadata` must have. */
  metadata?: Record<string, unknown>;
  sort_by: "name" | "start_time" | "last_run_start_time";
  sort_by_desc: boolean;
  limit: number;
  offset: number;
}

export async function listProjects(db: Database, workspaceId: string, wanted: ProjectsWanted): Promise<ProjectRow[]> {
  const { id, name, name_contains, reference_dataset, reference_free, metadata = {} } = wanted;
  const lastRun = sql`(SELECT max(p.last_run_start_time) FROM trace_partitions p WHERE p.workspace_id = ${projects.workspaceId} AND p.project_id = ${projects.id})`;
  const column = { name: sql`${projects.name}`, start_time: sql`${projects.startTime}`, last_run_start_time: lastRun }[
    wanted.sort_by
  ];
  const direction = wanted.sort_by_desc ? desc : asc;
  return db
    .select()
    .from(projects)
    .where(
      and(
        eq(projects.workspaceId, workspaceId),
        id && inList(projects.id, id),
        name === undefined ? undefined : eq(projects.name, name),
        name_contains === undefined ? undefined : sql`instr(lower(${projects.name}), lower(${name_contains})) > 0`,
        reference_dataset && inList(projects.referenceDatasetId, reference_dataset),
        reference_free === undefined
          ? undefined
          : reference_free
            ? isNull(projects.referenceDatasetId)
            : isNotNull(projects.referenceDatasetId),
        ...Object.entries(metadata)
          .slice(0, 10)
          .map(
            ([key, value]) =>
              sql`EXISTS (SELECT 1 FROM json_each(${projects.extra}, '$.metadata') m WHERE m.key = ${key} AND m.value = json_extract(${JSON.stringify([value])}, '$[0]'))`,
          ),
      ),
    )
    .orderBy(direction(column), direction(projects.id))
    .limit(wanted.limit)
    .offset(wanted.offset)
    .all();
}

/** Changes what is given; undefined leaves a column as it is. */
export async function updateProject(
  db: Database,
  workspaceId: string,
  id: string,
  changes: Partial<ProjectRow>,
): Promise<ProjectRow | undefined> {
  const where = and(eq(projects.workspaceId, workspaceId), eq(projects.id, id));
  if (Object.values(changes).every((value) => value === undefined)) return findProject(db, workspaceId, id);
  return db.update(projects).set(changes).where(where).returning().get();
}

/** Notes that these traces were deleted. Traces that are noted already keep their time. */
export async function noteDeletions(
  db: Database,
  workspaceId: string,
  projectId: string,
  traceIds: string[],
): Promise<void> {
  await db.run(
    sql`INSERT INTO ${traceDeletions} (workspace_id, project_id, trace_id, deleted_at)
        SELECT ${workspaceId}, ${projectId}, value, ${Date.now()} FROM json_each(${JSON.stringify(traceIds)}) WHERE true
        ON CONFLICT DO NOTHING`,
  );
}

/** The ids of at most 10,000 traces of a project that were deleted at or after `since`, milliseconds, newest first. */
export async function recentDeletions(
  db: Database,
  workspaceId: string,
  projectId: string,
  since: number,
): Promise<string[]> {
  const { workspaceId: workspace, projectId: project, traceId, deletedAt } = traceDeletions;
  const rows = await db
    .select({ traceId })
    .from(traceDeletions)
    .where(and(eq(workspace, workspaceId), eq(project, projectId), gte(deletedAt, since)))
    .orderBy(desc(deletedAt))
    .limit(10_000)
    .all();
  return rows.map((row) => row.traceId);
}

export async function deleteProject(db: Database, workspaceId: string, id: string): Promise<void> {
  await db.delete(projects).where(and(eq(projects.workspaceId, workspaceId), eq(projects.id, id)));
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

/** The experiments on a dataset, at most a hundred. */
export async function listProjectsOfDataset(
  db: Database,
  workspaceId: string,
  datasetId: string,
): Promise<ProjectRow[]> {
  return db
    .select()
    .from(projects)
    .where(and(eq(projects.workspaceId, workspaceId), eq(projects.referenceDatasetId, datasetId)))
    .limit(100)
    .all();
}

/** The number of experiments on each of these datasets, and when the newest began. A dataset without any is absent. */
export async function countExperimentsOf(
  db: Database,
  workspaceId: string,
  datasetIds: string[],
): Promise<Map<string, { count: number; last: number }>> {
  const rows = await db
    .select({ id: projects.referenceDatasetId, count: sql<number>`count(*)`, last: max(projects.startTime) })
    .from(projects)
    .where(and(eq(projects.workspaceId, workspaceId), inList(projects.referenceDatasetId, datasetIds)))
    .groupBy(projects.referenceDatasetId)
    .all();
  return new Map(rows.map(({ id, count, last }) => [id ?? "", { count, last: last ?? 0 }]));
}
