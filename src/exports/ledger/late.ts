/**
 * D1: what came late. An export run notes the number of the last change of each shard that it saw (traces/partition/changes.ts).
 * A partition with a higher number has runs or patches that the export run does not have.
 */
import { type SQL, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import type { SeenWindow } from "../table.ts";
import { DAY_MICROS } from "../../traces/time.ts";
import { OPEN } from "../status.ts";
import type { ExportRow } from "../store.ts";
import type { PlannedRun } from "./jobs.ts";

/** Windows that ended longer ago than this are not checked. Microseconds. */
const LATE_FOR = 30 * DAY_MICROS;
/** The most partitions that the status of one export asks. */
const MOST_ASKED = 100;

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
export async function noteLateSeen(db: Database, exportId: string): Promise<void> {
  await db.run(sql`
    UPDATE export_runs AS r SET seen = l.seen
    FROM export_runs l JOIN bulk_exports j ON j.id = l.export_id
    WHERE l.export_id = ${exportId} AND l.late = 1 AND j.status = 'COMPLETED' AND r.late = 0 AND r.status = 'COMPLETED'
      AND r.project_id = l.project_id AND r.day = l.day AND r.seen IS NOT NULL
      AND r.export_id IN (
        SELECT e.id FROM bulk_exports e WHERE e.source_export_id = j.source_export_id AND e.start_time < j.start_time)`);
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
    LIMIT ${MOST_ASKED}`);
}
