/** D1: what the sweep of every minute finds. Each query takes what it gives, so that two sweeps do not give it twice. */
import { and, eq, getTableColumns, inArray, lte, sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { bulkExports } from "./table.ts";
import { inList } from "../db/conditions.ts";
import { inTurns } from "../lib/due-work.ts";
import { statusesBefore, type ExportRow, PROJECT_DELETED } from "./store.ts";
import { type RunMessage, type ExportDeps, createExportDeps } from "./deps.ts";
import { endOpenRuns } from "./ledger/lease.ts";
import { failJob, startWaiting } from "./ledger/jobs.ts";
import { HOUR_MICROS } from "../traces/time.ts";

/** More than this of one kind waits for the next minute. */
const AT_ONCE = 100;

/** Ends exports that started before `startedBefore`, with their open runs. Gives their ids. */
export async function timeOut(db: Database, startedBefore: number, now: number): Promise<string[]> {
  const due = db
    .select({ id: bulkExports.id })
    .from(bulkExports)
    .where(and(inArray(bulkExports.status, statusesBefore("TIMEDOUT")), lte(bulkExports.startedAt, startedBefore)))
    .limit(AT_ONCE);
  const late = await db
    .update(bulkExports)
    .set({ status: "TIMEDOUT", error: "The export ran for 72 hours.", updatedAt: now, finishedAt: now })
    .where(inArray(bulkExports.id, due))
    .returning({ id: bulkExports.id });
  for (const { id } of late) await endOpenRuns(db, id, "TIMEDOUT", "TIMEDOUT", now);
  return late.map(({ id }) => id);
}

/**
 * Export runs that no worker works on, and for which none was woken since `sentBefore`: those that lost their message or their owner,
 * and those that have ended with an upload still open.
 */
export async function takeLostRuns(db: Database, sentBefore: number, now: number): Promise<RunMessage[]> {
  const lost = sql`
    SELECT r.id, r.workspace_id AS owner, coalesce(r.sent_at, 0) AS due, 0 AS served
    FROM export_runs r JOIN bulk_exports e ON e.id = r.export_id
    WHERE r.status IN ('CREATED', 'RUNNING') AND e.status = 'RUNNING' AND r.sent_at <= ${sentBefore}
      AND (r.lease_until IS NULL OR r.lease_until <= ${now}) AND r.next_attempt_at <= ${now}
    UNION ALL SELECT r.id, r.workspace_id, coalesce(r.sent_at, 0), 0 FROM export_runs r
    WHERE r.pending IS NOT NULL AND r.status NOT IN ('CREATED', 'RUNNING', 'COMPLETED')
      AND (r.lease_until IS NULL OR r.lease_until <= ${now}) AND coalesce(r.sent_at, 0) <= ${sentBefore}`;
  return db.all<RunMessage>(sql`
    UPDATE export_runs SET sent_at = ${now} WHERE id IN (SELECT id FROM (${inTurns(lost, AT_ONCE)}))
    RETURNING id AS runId, (SELECT e.destination_id FROM bulk_exports e WHERE e.id = export_runs.export_id) AS destinationId`);
}

/** Running exports that wait for the planner, for more messages, or for their manifest. */
export async function takeIdleJobs(db: Database, now: number, resendAt: number): Promise<string[]> {
  const idle = sql`
    SELECT e.id, e.workspace_id AS owner, e.next_attempt_at AS due, 0 AS served FROM bulk_exports e
    WHERE e.status = 'RUNNING' AND e.next_attempt_at <= ${now} AND (
      e.planned_at IS NULL
      OR NOT EXISTS (SELECT 1 FROM export_runs r WHERE r.export_id = e.id AND r.status IN ('CREATED', 'RUNNING'))
      OR EXISTS (SELECT 1 FROM export_runs r WHERE r.export_id = e.id AND r.status = 'CREATED' AND r.sent_at IS NULL))`;
  const rows = await db.all<{ id: string }>(sql`
    UPDATE bulk_exports SET next_attempt_at = ${resendAt} WHERE status = 'RUNNING' AND next_attempt_at <= ${now}
      AND id IN (SELECT id FROM (${inTurns(idle, AT_ONCE)}))
    RETURNING id`);
  return rows.map(({ id }) => id);
}

/** A schedule with a window that is due, and how many windows its workspace may have spawned now. */
interface DueSchedule extends ExportRow {
  room: number;
  /** When the last trace of its project was deleted, if the project is deleted; 0 when it had no traces. Milliseconds. */
  goneAt: number | null;
}

/**
 * Active schedules with a window that is due at `now`: its end, and `SPAWN_DELAY` more, have passed. Those come first whose workspace
 * has spawned the fewest windows in the last hour. One that has spawned `most` has no turn.
 */
async function dueSchedules(db: Database, now: number, most: number): Promise<DueSchedule[]> {
  const due = sql`e.start_time + (e.spawned + 1) * e.interval_hours * ${HOUR_MICROS}`;
  const items = sql`
    SELECT e.id, e.workspace_id AS owner, ${due} AS due, (SELECT count(*) FROM bulk_exports s
      WHERE s.workspace_id = e.workspace_id AND s.created_at > ${now - HOUR_MICROS / 1000} AND s.source_export_id IS NOT NULL) AS served,
      iif(e.session_id IS NULL OR EXISTS (SELECT 1 FROM projects p WHERE p.id = e.session_id), NULL, (SELECT coalesce(max(d.deleted_at), 0)
        FROM trace_deletions d WHERE d.workspace_id = e.workspace_id AND d.project_id = e.session_id)) AS goneAt
    FROM bulk_exports e
    WHERE e.status = 'CREATED' AND e.interval_hours IS NOT NULL AND ${due} <= ${now * 1000 - SPAWN_DELAY}
      AND NOT EXISTS (SELECT 1 FROM workspaces w WHERE w.id = e.workspace_id AND w.settings ->> 'exports' = 0)`;
  const turns = await db.all<{ id: string; served: number; goneAt: number | null }>(
    inTurns(items, SPAWNED_AT_ONCE, most),
  );
  const rows = await db
    .select()
    .from(bulkExports)
    .where(
      inList(
        bulkExports.id,
        turns.map(({ id }) => id),
      ),
    )
    .all();
  const byId = new Map(rows.map((row) => [row.id, row]));
  return turns.flatMap(({ id, served, goneAt }) => {
    const row = byId.get(id);
    return row ? [{ ...row, room: most - served, goneAt }] : [];
  });
}

/** The next window of a schedule, as an export of its own. Microseconds; `now` in milliseconds. */
export interface SpawnedWindow {
  id: string;
  startTime: number;
  endTime: number;
  now: number;
}

/**
 * Spawns the export of a schedule's next window and counts it, both or neither. The count guards against a second sweep,
 * the unique index over (schedule, window) against anything else. False when another was first, or it was cancelled.
 */
export async function spawn(db: Database, schedule: ExportRow, { id, startTime, endTime, now }: SpawnedWindow) {
  const active = and(
    eq(bulkExports.id, schedule.id),
    eq(bulkExports.status, "CREATED"),
    eq(bulkExports.spawned, schedule.spawned),
  );
  const { workspaceId, destinationId, sessionId, allExperiments, filter, formatVersion, compression, exportFields } =
    getTableColumns(bulkExports);
  const [, counted] = await db.batch([
    db
      .insert(bulkExports)
      .select(
        db
          .select({
            id: sql`${id}`.as("id"),
            workspaceId,
            destinationId,
            sessionId,
            allExperiments,
            startTime: sql`${startTime}`.as("start_time"),
            endTime: sql`${endTime}`.as("end_time"),
            filter,
            formatVersion,
            compression,
            intervalHours: sql`NULL`.as("interval_hours"),
            exportFields,
            status: sql`'CREATED'`.as("status"),
            error: sql`NULL`.as("error"),
            sourceExportId: sql`${schedule.id}`.as("source_export_id"),
            spawned: sql`${schedule.spawned + 1}`.as("spawned"),
            plannedAt: sql`NULL`.as("planned_at"),
            retries: sql`0`.as("retries"),
            nextAttemptAt: sql`0`.as("next_attempt_at"),
            startedAt: sql`NULL`.as("started_at"),
            createdAt: sql`${now}`.as("created_at"),
            updatedAt: sql`${now}`.as("updated_at"),
            finishedAt: sql`NULL`.as("finished_at"),
            deletionsBy: sql`NULL`.as("deletions_by"),
          })
          .from(bulkExports)
          .where(active),
      )
      .onConflictDoNothing(),
    db
      .update(bulkExports)
      .set({ spawned: schedule.spawned + 1, updatedAt: now })
      .where(active)
      .returning({ id: bulkExports.id }),
  ]);
  return counted.length > 0;
}

// The sweep of every minute: it spawns what is due, and wakes what got lost. It does no work itself.

/** Late data has this long to arrive (specification 3.3). Microseconds. */
const SPAWN_DELAY = 600_000_000;
/** The most windows that a sweep spawns for one schedule, and for all schedules. */
const CATCH_UP = 20;
const SPAWNED_AT_ONCE = 100;

/** Window k of a schedule, k from 1: [start + (k-1)h, start + kh), due 10 minutes after its end. Microseconds. */
export function scheduleWindow(startTime: number, intervalHours: number, k: number) {
  const interval = intervalHours * HOUR_MICROS;
  const endTime = startTime + k * interval;
  return { startTime: endTime - interval, endTime, dueAt: endTime + SPAWN_DELAY };
}

/** The cron trigger's handler. Any number of sweeps at a time does no harm. */
export async function schedule(env: Env): Promise<void> {
  await sweep(createExportDeps(env));
}

/** Spawns what is due, ends what took too long, and sends again what got lost. */
export async function sweep(deps: ExportDeps): Promise<void> {
  const { db, limits } = deps;
  const now = deps.now();
  await spawnDue(deps);
  await timeOut(db, now - limits.timeout, now);
  const started = await startWaiting(db, limits.exportsPerWorkspace, now);
  const idle = await takeIdleJobs(db, now, now + limits.resendAfter);
  for (const exportId of new Set([...started, ...idle])) await deps.send({ exportId });
  for (const message of await takeLostRuns(db, now - limits.resendAfter, now)) await deps.send(message);
}

/** Spawns the due windows of active schedules, oldest first: one of each schedule, then a second one of each, and so on. */
export async function spawnDue(deps: ExportDeps): Promise<void> {
  const now = deps.now();
  let schedules = await dueSchedules(deps.db, now, deps.limits.spawnedPerHour);
  const room = new Map(schedules.map((schedule) => [schedule.workspaceId, schedule.room]));
  let left = SPAWNED_AT_ONCE;
  for (let round = 0; round < CATCH_UP && schedules.length > 0; round++) {
    const more: DueSchedule[] = [];
    for (const schedule of schedules) {
      const own = room.get(schedule.workspaceId) ?? 0;
      if (left === 0) return;
      if (own <= 0) continue;
      const { startTime, intervalHours, spawned, goneAt } = schedule;
      const window = scheduleWindow(startTime, intervalHours ?? 1, spawned + 1);
      // The windows up to the deletion of the project name its traces. There is nothing to export after it.
      if (goneAt !== null && window.startTime > goneAt * 1000) {
        await failJob(deps.db, schedule.id, PROJECT_DELETED, now);
        continue;
      }
      if (window.dueAt > now * 1000 || !(await spawn(deps.db, schedule, { id: deps.newId(), ...window, now })))
        continue;
      left -= 1;
      room.set(schedule.workspaceId, own - 1);
      more.push({ ...schedule, spawned: spawned + 1 });
    }
    schedules = more;
  }
}
