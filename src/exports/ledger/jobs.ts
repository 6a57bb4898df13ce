/** D1: how an export job starts, is laid out in runs, and ends. */
import { and, eq, inArray, isNull, isNotNull, lte, sql, type SQL } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { type SeenWindow, bulkExports, exportRuns } from "../table.ts";
import { inParameters } from "../../db/conditions.ts";
import { inTurns } from "../../lib/due-work.ts";
import { statusesBefore, OPEN, type ExportRow } from "../store.ts";
import { endOpenRuns } from "./lease.ts";
import { DAY_MICROS } from "../../traces/time.ts";

/** The most exports that one call starts. Each takes a queue message. */
const AT_ONCE = 500;

/**
 * Starts waiting exports, oldest first, while their workspace has room. Gives the ids of those that started.
 * `only` restricts it to one workspace.
 */
export async function startWaiting(db: Database, room: number, now: number, only?: string): Promise<string[]> {
  const waiting = sql`
    SELECT e.id, e.workspace_id AS owner, e.created_at AS due,
      (SELECT count(*) FROM bulk_exports r WHERE r.workspace_id = e.workspace_id AND r.status = 'RUNNING') AS served
    FROM bulk_exports e WHERE e.status = 'CREATED' AND e.interval_hours IS NULL
      AND ${only === undefined ? sql`1` : sql`e.workspace_id = ${only}`}`;
  const rows = await db.all<{ id: string }>(sql`
    UPDATE bulk_exports SET status = 'RUNNING', started_at = ${now}, updated_at = ${now}, next_attempt_at = ${now}
    WHERE status = 'CREATED' AND id IN (SELECT id FROM (${inTurns(waiting, AT_ONCE, room)}))
    RETURNING id`);
  return rows.map(({ id }) => id);
}

export async function findJob(db: Database, id: string): Promise<ExportRow | undefined> {
  return db.select().from(bulkExports).where(eq(bulkExports.id, id)).get();
}

/** One project and day of an export, before it has a row. Times in microseconds. */
export interface PlannedRun {
  id: string;
  projectId: string;
  day: string;
  startTime: number;
  endTime: number;
  /** The windows of a late run (see below). */
  since?: SeenWindow[];
}

/** Lays down the runs of a running export. Doing so again changes nothing. An export that has ended gets none. */
export async function insertRuns(db: Database, job: ExportRow, runs: PlannedRun[], now: number): Promise<void> {
  for (const list of inParameters(runs)) {
    await db.run(sql`
      INSERT OR IGNORE INTO export_runs
        (export_id, id, workspace_id, project_id, day, late, since, start_time, end_time, status, files, created_at,
          updated_at)
      SELECT ${job.id}, value ->> 'id', ${job.workspaceId}, value ->> 'projectId', value ->> 'day',
        value -> 'since' IS NOT NULL, value -> 'since', value ->> 'startTime', value ->> 'endTime', 'CREATED', '[]', ${now},
        ${now}
      FROM json_each(${list})
      WHERE EXISTS (SELECT 1 FROM bulk_exports e WHERE e.id = ${job.id} AND e.status = 'RUNNING')`);
  }
}

/**
 * Completes the runs whose day has no partition and is over at `now`, so that a year with few runs needs no message for each
 * day. A partition is registered before its first write is acknowledged.
 */
export async function completeEmptyRuns(db: Database, exportId: string, now: number): Promise<void> {
  await db
    .update(exportRuns)
    .set({ status: "COMPLETED", seen: {}, updatedAt: now, finishedAt: now })
    .where(
      and(
        eq(exportRuns.exportId, exportId),
        eq(exportRuns.status, "CREATED"),
        lte(exportRuns.endTime, now * 1000),
        sql`NOT EXISTS (SELECT 1 FROM trace_partitions p WHERE p.workspace_id = ${exportRuns.workspaceId}
          AND p.project_id = ${exportRuns.projectId} AND p.day = ${exportRuns.day})`,
      ),
    );
}

export async function markPlanned(db: Database, id: string, now: number): Promise<void> {
  await db
    .update(bulkExports)
    .set({ plannedAt: now, updatedAt: now, retries: 0 })
    .where(and(eq(bulkExports.id, id), isNull(bulkExports.plannedAt)));
}

/** The share of `inFlight` messages that an export has: equal between workspaces, then between their exports. */
async function readMessageShare(db: Database, job: ExportRow, inFlight: number, most: number): Promise<number> {
  const running = await db.get<{ workspaces: number; own: number }>(sql`
    SELECT count(DISTINCT workspace_id) AS workspaces, sum(workspace_id = ${job.workspaceId}) AS own
    FROM bulk_exports WHERE status = 'RUNNING'`);
  const share = Math.floor(inFlight / Math.max(1, running?.workspaces ?? 1) / Math.max(1, running?.own ?? 1));
  return Math.max(1, Math.min(most, share));
}

/** Picks the next runs of an export up to its share and marks them as sent. Gives their ids. */
export async function takeRunsToSend(
  db: Database,
  job: ExportRow,
  { inFlight, runsPerExport }: { inFlight: number; runsPerExport: number },
  now: number,
): Promise<string[]> {
  const share = await readMessageShare(db, job, inFlight, runsPerExport);
  const rows = await db.all<{ id: string }>(sql`
    UPDATE export_runs SET sent_at = ${now}
    WHERE id IN (
      SELECT id FROM export_runs WHERE export_id = ${job.id} AND status = 'CREATED' AND sent_at IS NULL
      ORDER BY day, project_id
      LIMIT max(0, ${share} - (
        SELECT count(*) FROM export_runs
        WHERE export_id = ${job.id} AND status IN ('CREATED', 'RUNNING') AND sent_at IS NOT NULL)))
      AND EXISTS (SELECT 1 FROM bulk_exports WHERE id = ${job.id} AND status = 'RUNNING')
    RETURNING id`);
  return rows.map(({ id }) => id);
}

export async function hasOpenRuns(db: Database, exportId: string): Promise<boolean> {
  const open = await db
    .select({ id: exportRuns.id })
    .from(exportRuns)
    .where(and(eq(exportRuns.exportId, exportId), inArray(exportRuns.status, OPEN)))
    .limit(1)
    .get();
  return open !== undefined;
}

/**
 * Ends an export whose runs are all complete, and notes in the same transaction what its late runs have seen: the next window would
 * export them again. False when it had ended, or a run is open.
 */
export async function completeJob(db: Database, id: string, now: number): Promise<boolean> {
  const complete = db
    .update(bulkExports)
    .set({ status: "COMPLETED", updatedAt: now, finishedAt: now })
    .where(
      and(
        eq(bulkExports.id, id),
        inArray(bulkExports.status, statusesBefore("COMPLETED")),
        isNotNull(bulkExports.plannedAt),
        sql`NOT EXISTS (SELECT 1 FROM ${exportRuns} WHERE ${exportRuns.exportId} = ${id} AND ${exportRuns.status} <> 'COMPLETED')`,
      ),
    )
    .returning({ id: bulkExports.id });
  const [done] = await db.batch([complete, noteLateSeen(db, id)]);
  return done.length > 0;
}

/** Ends an export that cannot be planned or finished. */
export async function failJob(db: Database, id: string, reason: string, now: number): Promise<void> {
  await db.batch([
    db
      .update(bulkExports)
      .set({ status: "FAILED", error: reason, updatedAt: now, finishedAt: now })
      .where(and(eq(bulkExports.id, id), inArray(bulkExports.status, statusesBefore("FAILED")))),
    endOpenRuns(db, id, "FAILED", "CANCELLED", now),
  ]);
}

export async function noteJobRetry(db: Database, id: string, reason: string, nextAttemptAt: number): Promise<void> {
  await db
    .update(bulkExports)
    .set({ retries: sql`${bulkExports.retries} + 1`, error: reason, nextAttemptAt })
    .where(and(eq(bulkExports.id, id), eq(bulkExports.status, "RUNNING")));
}

/** Rows per query. An export can have 100,000 runs. */
const PAGE = 200;

/** Every run of an export with its files, by project and day, for the manifest: those of its own windows, or the late ones. */
export async function* allRuns(db: Database, exportId: string, late: boolean) {
  let after = { projectId: "", day: "" };
  for (;;) {
    const rows = await db
      .select()
      .from(exportRuns)
      .where(
        and(
          eq(exportRuns.exportId, exportId),
          eq(exportRuns.late, late),
          sql`(${exportRuns.projectId}, ${exportRuns.day}) > (${after.projectId}, ${after.day})`,
        ),
      )
      .orderBy(exportRuns.projectId, exportRuns.day)
      .limit(PAGE)
      .all();
    yield* rows;
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return;
    after = last;
  }
}

// D1: what came late. An export run notes the number of the last change of each shard that it saw (traces/partition/store/changes.ts).
// A partition with a higher number has runs or patches that the export run does not have.

/** Windows that ended longer ago than this are not checked. Microseconds. */
const LATE_FOR = 30 * DAY_MICROS;
/** The most partitions that the status of one export asks. */
const MAX_ASKED = 100;

export interface LateDay extends Omit<PlannedRun, "id"> {
  since: SeenWindow[];
}

/** The number of a run's shard, as `trace_partitions p` and `export_runs r` are joined. */
const SEEN = sql`coalesce(r.seen ->> ('$."' || p.shard || '"'), 0)`;
const PARTITIONS = sql`JOIN trace_partitions p
  ON p.workspace_id = r.workspace_id AND p.project_id = r.project_id AND p.day = r.day`;

/**
 * The days on which runs of a schedule's earlier windows have come or changed since they were exported. None while an earlier
 * window is still being exported: the late files of a schedule are in the order of its windows.
 */
export async function lateDays(db: Database, job: ExportRow): Promise<LateDay[]> {
  if (job.sourceExportId === null) return [];
  const earlier = sql`e.source_export_id = ${job.sourceExportId} AND e.start_time < ${job.startTime}
    AND e.end_time > ${job.startTime - LATE_FOR}`;
  const open = await db.get(sql`SELECT 1 FROM bulk_exports e WHERE ${earlier} AND e.status IN ${OPEN} LIMIT 1`);
  if (open !== undefined) return [];
  // All windows of a day, for the run sees what changes in any of them while it reads.
  const days = await db.all<Omit<LateDay, "since"> & { windows: string }>(sql`
    WITH windows AS (
      SELECT r.workspace_id, r.project_id, r.day, r.start_time, r.end_time, r.seen
      FROM bulk_exports e JOIN export_runs r ON r.export_id = e.id
      WHERE ${earlier} AND r.late = 0 AND r.status = 'COMPLETED' AND r.seen IS NOT NULL
      ${job.allExperiments ? sql`UNION ALL ${windowsOfNewProjects(job, earlier)}` : sql``})
    SELECT r.project_id AS projectId, r.day AS day, min(r.start_time) AS startTime, max(r.end_time) AS endTime,
      json_group_array(json_object('startTime', r.start_time, 'endTime', r.end_time, 'seen', json(r.seen))) AS windows
    FROM windows r
    GROUP BY r.project_id, r.day
    HAVING max(EXISTS (SELECT 1 FROM trace_partitions p
      WHERE p.workspace_id = r.workspace_id AND p.project_id = r.project_id AND p.day = r.day AND p.changes > ${SEEN}))`);
  return days.map(({ windows, ...day }) => ({ ...day, since: JSON.parse(windows) as SeenWindow[] }));
}

/**
 * The earlier windows of experiments that did not exist when these were exported, with what the late runs of later windows have
 * seen of them. `earlier` is the condition on their exports `e`.
 */
function windowsOfNewProjects({ workspaceId, sourceExportId }: ExportRow, earlier: SQL): SQL {
  const startTime = sql`max(e.start_time, d.start)`;
  const endTime = sql`min(e.end_time, d.start + ${DAY_MICROS})`;
  return sql`
    SELECT ${workspaceId}, d.project_id, d.day, ${startTime}, ${endTime}, coalesce((
      SELECT l.seen FROM export_runs l JOIN bulk_exports j ON j.id = l.export_id
      WHERE j.source_export_id = ${sourceExportId} AND j.status = 'COMPLETED' AND l.late = 1
        AND l.project_id = d.project_id AND l.day = d.day AND l.start_time <= ${startTime} AND l.end_time >= ${endTime}
      ORDER BY j.start_time DESC LIMIT 1), '{}')
    FROM bulk_exports e JOIN (
      SELECT DISTINCT p.project_id, p.day, unixepoch(p.day) * 1000000 AS start FROM trace_partitions p
      WHERE p.workspace_id = ${workspaceId} AND p.project_id IN (
        SELECT id FROM projects WHERE workspace_id = ${workspaceId} AND reference_dataset_id IS NOT NULL)
    ) d ON d.start < e.end_time AND d.start + ${DAY_MICROS} > e.start_time
    WHERE ${earlier} AND e.status = 'COMPLETED' AND NOT EXISTS (SELECT 1 FROM export_runs r
      WHERE r.export_id = e.id AND r.project_id = d.project_id AND r.day = d.day AND r.late = 0)`;
}

/** Notes that the earlier windows have been exported up to what the late runs of a completed export saw. */
function noteLateSeen(db: Database, exportId: string) {
  const late = sql`FROM export_runs l WHERE l.export_id = ${exportId} AND l.late = 1
    AND l.project_id = export_runs.project_id AND l.day = export_runs.day`;
  const earlier = sql`(SELECT e.id FROM bulk_exports j JOIN bulk_exports e
    ON e.source_export_id = j.source_export_id AND e.start_time < j.start_time
    WHERE j.id = ${exportId} AND j.status = 'COMPLETED')`;
  return db
    .update(exportRuns)
    .set({ seen: sql`(SELECT l.seen ${late})` })
    .where(
      and(
        sql`${exportRuns.exportId} IN ${earlier}`,
        eq(exportRuns.late, false),
        eq(exportRuns.status, "COMPLETED"),
        isNotNull(exportRuns.seen),
        sql`EXISTS (SELECT 1 ${late})`,
      ),
    );
}

/** The windows of a completed export in partitions that have changed since it read them. */
export async function changedWindows(db: Database, exportId: string) {
  return db.all<{
    projectId: string;
    day: string;
    shard: number;
    since: number;
    startTime: number;
    endTime: number;
  }>(sql`
    SELECT r.project_id AS projectId, r.day AS day, p.shard AS shard, ${SEEN} AS since, r.start_time AS startTime,
      r.end_time AS endTime
    FROM export_runs r ${PARTITIONS}
    WHERE r.export_id = ${exportId} AND r.late = 0 AND r.seen IS NOT NULL AND p.changes > ${SEEN}
    LIMIT ${MAX_ASKED}`);
}
