/** D1: projects. An experiment is a project with a reference dataset. */
import { and, asc, desc, eq, isNotNull, isNull, max, sql, gte, lte } from "drizzle-orm";
import { inList } from "../../db/conditions.ts";
import type { Database } from "../../db/client.ts";
import { projects, tracePartitions, traceDeletions } from "./table.ts";

export type ProjectRow = typeof projects.$inferSelect;

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

/**
 * Changes what is given; undefined leaves a column as it is. A new `extra` replaces the one that was read: undefined when
 * another request has replaced it since, or has deleted the project.
 * @throws when another project has the name (see `isTaken`)
 */
export async function updateProject(
  db: Database,
  { workspaceId, id, extra }: ProjectRow,
  changes: Partial<ProjectRow>,
): Promise<ProjectRow | undefined> {
  if (Object.values(changes).every((value) => value === undefined)) return findProject(db, workspaceId, id);
  const asRead = changes.extra === undefined ? undefined : eq(projects.extra, extra);
  const where = and(eq(projects.workspaceId, workspaceId), eq(projects.id, id), asRead);
  return db.update(projects).set(changes).where(where).returning().get();
}

/** Deletes a project that has no partitions. False when it has one, which can be made at any time (`announcePartition`). */
export async function deleteProject(db: Database, workspaceId: string, id: string): Promise<boolean> {
  const hasNone = sql`NOT EXISTS (SELECT 1 FROM trace_partitions p WHERE p.workspace_id = ${workspaceId} AND p.project_id = ${id})`;
  await db.delete(projects).where(and(eq(projects.workspaceId, workspaceId), eq(projects.id, id), hasNone));
  return (await findProject(db, workspaceId, id)) === undefined;
}

export interface ProjectQuery {
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

export async function listProjects(db: Database, workspaceId: string, wanted: ProjectQuery): Promise<ProjectRow[]> {
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
        sql`NOT EXISTS (SELECT 1 FROM json_each(${JSON.stringify(metadata)}) w WHERE NOT EXISTS (
          SELECT 1 FROM json_each(${projects.extra}, '$.metadata') m WHERE m.key = w.key AND m.value = w.value))`,
      ),
    )
    .orderBy(direction(column), direction(projects.id))
    .limit(wanted.limit)
    .offset(wanted.offset)
    .all();
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

/** The experiments on a dataset, oldest first. */
export async function listProjectsOfDataset(
  db: Database,
  workspaceId: string,
  datasetId: string,
): Promise<ProjectRow[]> {
  return db
    .select()
    .from(projects)
    .where(and(eq(projects.workspaceId, workspaceId), eq(projects.referenceDatasetId, datasetId)))
    .orderBy(asc(projects.startTime), asc(projects.id))
    .all();
}

/** The number of experiments on each of these datasets, and when the newest began. A dataset without any is absent. */
export async function countDatasetExperiments(
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

// The sizes of traces in D1.

/** The trace runs and bytes of each project and day of a window, oldest first. */
export async function usageByDay(db: Database, workspaceId: string, first: string, last: string) {
  const { day, projectId: project_id, rows: runs, bytes } = tracePartitions;
  return db
    .select({ day, project_id, runs, bytes })
    .from(tracePartitions)
    .where(and(eq(tracePartitions.workspaceId, workspaceId), gte(day, first), lte(day, last)))
    .orderBy(asc(day), asc(project_id))
    .all();
}

export async function projectNames(db: Database, workspaceId: string, ids: string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .select({ id: projects.id, name: projects.name })
    .from(projects)
    .where(and(eq(projects.workspaceId, workspaceId), inList(projects.id, ids)))
    .all();
  return new Map(rows.map(({ id, name }) => [id, name]));
}

// D1: the traces that were deleted.

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
