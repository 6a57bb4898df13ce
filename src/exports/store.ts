/** D1: export jobs as their owners see them. The engine's side of them is in ledger/. */
import { type ExportStatus, bulkExports, exportDestinations, exportRuns } from "./table.ts";
import { and, asc, count, desc, eq, gt, inArray, isNotNull, sql } from "drizzle-orm";
import { inList } from "../db/conditions.ts";
import type { Database } from "../db/client.ts";

// The states of an export and of an export run, as data (specification 3.1).

/** Where each state may lead. What has ended stays as it is. A schedule is CREATED until it is cancelled. */
export const TRANSITIONS: Record<ExportStatus, readonly ExportStatus[]> = {
  CREATED: ["RUNNING", "FAILED", "CANCELLED", "TIMEDOUT"],
  RUNNING: ["COMPLETED", "FAILED", "CANCELLED", "TIMEDOUT"],
  COMPLETED: [],
  FAILED: [],
  CANCELLED: [],
  TIMEDOUT: [],
};

export const STATUSES = Object.keys(TRANSITIONS) as ExportStatus[];

/** States that are not final. */
export const OPEN: ExportStatus[] = STATUSES.filter((status) => TRANSITIONS[status].length > 0);

/**
 * The states from which `next` can be reached. Every statement that changes a status names them in its WHERE, so that an
 * illegal transition changes no row.
 */
export function statusesBefore(next: ExportStatus): ExportStatus[] {
  return STATUSES.filter((status) => TRANSITIONS[status].includes(next));
}

export type ExportRow = typeof bulkExports.$inferSelect;
export type ExportRunRow = typeof exportRuns.$inferSelect;

/** The error of an export or a schedule whose project was deleted. */
export const PROJECT_DELETED = "ProjectDeleted: the project of the export was deleted.";

export interface ExportProgress {
  runs: number;
  completed: number;
  rows: number;
  bytes: number;
  files: number;
}

export const NO_PROGRESS: ExportProgress = { runs: 0, completed: 0, rows: 0, bytes: 0, files: 0 };

interface Slice {
  limit: number;
  offset: number;
}

/** Inserts an export unless its destination was deleted in the meantime. */
export async function insertExport(db: Database, row: ExportRow): Promise<boolean> {
  const [, kept] = await db.batch([
    db.insert(bulkExports).values(row),
    // A destination is deleted only while no export uses it; this is the other half of that rule.
    db
      .delete(bulkExports)
      .where(
        and(
          eq(bulkExports.id, row.id),
          sql`NOT EXISTS (SELECT 1 FROM ${exportDestinations} WHERE ${exportDestinations.id} = ${row.destinationId})`,
        ),
      )
      .returning({ id: bulkExports.id }),
  ]);
  return kept.length === 0;
}

export async function findExport(db: Database, workspaceId: string, id: string): Promise<ExportRow | undefined> {
  return db
    .select()
    .from(bulkExports)
    .where(and(eq(bulkExports.workspaceId, workspaceId), eq(bulkExports.id, id)))
    .get();
}

/** Newest first. */
export async function listExports(db: Database, workspaceId: string, { limit, offset }: Slice): Promise<ExportRow[]> {
  return db
    .select()
    .from(bulkExports)
    .where(eq(bulkExports.workspaceId, workspaceId))
    .orderBy(desc(bulkExports.createdAt), desc(bulkExports.id))
    .limit(limit)
    .offset(offset)
    .all();
}

/** How far exports have come, by id. One that has no runs yet is missing. */
export async function readProgress(db: Database, exportIds: string[]): Promise<Map<string, ExportProgress>> {
  const rows = await db
    .select({
      id: exportRuns.exportId,
      runs: count(),
      completed: sql<number>`sum(${exportRuns.status} = 'COMPLETED')`,
      rows: sql<number>`sum(${exportRuns.rows})`,
      bytes: sql<number>`sum(${exportRuns.bytes})`,
      files: sql<number>`sum(json_array_length(${exportRuns.files}))`,
    })
    .from(exportRuns)
    .where(inList(exportRuns.exportId, exportIds))
    .groupBy(exportRuns.exportId)
    .all();
  return new Map(rows.map(({ id, ...progress }) => [id, progress]));
}

export async function listExportRuns(db: Database, exportId: string, { limit, offset }: Slice) {
  return db
    .select()
    .from(exportRuns)
    .where(eq(exportRuns.exportId, exportId))
    .orderBy(asc(exportRuns.day), asc(exportRuns.projectId))
    .limit(limit)
    .offset(offset)
    .all();
}

/** The runs of every export that a schedule has spawned, by window. */
export async function listSpawnedRuns(db: Database, scheduleId: string, { limit, offset }: Slice) {
  const rows = await db
    .select({ run: exportRuns })
    .from(exportRuns)
    .innerJoin(bulkExports, eq(bulkExports.id, exportRuns.exportId))
    .where(eq(bulkExports.sourceExportId, scheduleId))
    .orderBy(asc(exportRuns.startTime), asc(exportRuns.projectId))
    .limit(limit)
    .offset(offset)
    .all();
  return rows.map(({ run }) => run);
}

export async function findExportRun(db: Database, exportId: string, id: string): Promise<ExportRunRow | undefined> {
  return db
    .select()
    .from(exportRuns)
    .where(and(eq(exportRuns.exportId, exportId), eq(exportRuns.id, id)))
    .get();
}

/**
 * Cancels an export and its open runs. A worker that owns such a run has its next write refused. False when the export
 * had ended.
 */
export async function cancelExport(db: Database, id: string, now: number): Promise<boolean> {
  const cancelled = { status: "CANCELLED", updatedAt: now, finishedAt: now } as const;
  const [ended] = await db.batch([
    db
      .update(bulkExports)
      .set(cancelled)
      .where(and(eq(bulkExports.id, id), inArray(bulkExports.status, statusesBefore("CANCELLED"))))
      .returning({ id: bulkExports.id }),
    db
      .update(exportRuns)
      .set(cancelled)
      .where(
        and(
          eq(exportRuns.exportId, id),
          inArray(exportRuns.status, statusesBefore("CANCELLED")),
          sql`EXISTS (SELECT 1 FROM ${bulkExports} WHERE ${bulkExports.id} = ${id} AND ${bulkExports.status} = 'CANCELLED')`,
        ),
      ),
  ]);
  return ended.length > 0;
}

/** What the quotas count: exports made since `since`, spawned ones included, and active schedules. */
export async function countForQuota(db: Database, workspaceId: string, since: number) {
  const own = eq(bulkExports.workspaceId, workspaceId);
  const [recent, schedules] = await db.batch([
    db
      .select({ n: count() })
      .from(bulkExports)
      .where(and(own, gt(bulkExports.createdAt, since))),
    db
      .select({ n: count() })
      .from(bulkExports)
      .where(and(own, isNotNull(bulkExports.intervalHours), inArray(bulkExports.status, OPEN))),
  ]);
  return { recent: recent[0]?.n ?? 0, schedules: schedules[0]?.n ?? 0 };
}
