/** D1: what the sweep of every minute finds. Each query takes what it gives, so that two sweeps do not give it twice. */
import { and, eq, getTableColumns, inArray, isNotNull, lte, sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { bulkExports } from "./table.ts";
import { statusesBefore, type ExportRow, countForQuota } from "./store.ts";
import { type RunMessage, type ExportDeps, createExportDeps } from "./deps.ts";
import { endOpenRuns } from "./ledger/lease.ts";
import { startWaiting } from "./ledger/jobs.ts";
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

/** A run's message: its destination says whether it may begin. */
const MESSAGE = sql.raw(
  `id AS runId, (SELECT e.destination_id FROM bulk_exports e WHERE e.id = export_runs.export_id) AS destinationId`,
);

/** Runs whose message or owner got lost since `sentBefore`. */
export async function takeLostRuns(db: Database, sentBefore: number, now: number): Promise<RunMessage[]> {
  return db.all<RunMessage>(sql`
    UPDATE export_runs SET sent_at = ${now} WHERE id IN (
      SELECT r.id FROM export_runs r JOIN bulk_exports e ON e.id = r.export_id AND e.status = 'RUNNING'
      WHERE r.status IN ('CREATED', 'RUNNING') AND r.sent_at <= ${sentBefore}
        AND (r.lease_until IS NULL OR r.lease_until <= ${now}) AND r.next_attempt_at <= ${now}
      LIMIT ${AT_ONCE})
    RETURNING ${MESSAGE}`);
}

/** Runs that have ended with an upload still open and no owner. */
export async function takeOrphanedUploads(db: Database, now: number): Promise<RunMessage[]> {
  return db.all<RunMessage>(sql`
    SELECT ${MESSAGE} FROM export_runs
    WHERE pending IS NOT NULL AND status NOT IN ('CREATED', 'RUNNING', 'COMPLETED')
      AND (lease_until IS NULL OR lease_until <= ${now})
    LIMIT ${AT_ONCE}`);
}

/** Running exports that wait for the planner, for more messages, or for their manifest. */
export async function takeIdleJobs(db: Database, now: number, resendAt: number): Promise<string[]> {
  const rows = await db.all<{ id: string }>(sql`
    UPDATE bulk_exports SET next_attempt_at = ${resendAt} WHERE status = 'RUNNING' AND next_attempt_at <= ${now} AND id IN (
      SELECT e.id FROM bulk_exports e WHERE e.status = 'RUNNING' AND e.next_attempt_at <= ${now} AND (
        e.planned_at IS NULL
        OR NOT EXISTS (SELECT 1 FROM export_runs r WHERE r.export_id = e.id AND r.status IN ('CREATED', 'RUNNING'))
        OR EXISTS (SELECT 1 FROM export_runs r WHERE r.export_id = e.id AND r.status = 'CREATED' AND r.sent_at IS NULL))
      LIMIT ${AT_ONCE})
    RETURNING id`);
  return rows.map(({ id }) => id);
}

/** Active schedules with a window that is due: its end, and `delay` microseconds more, have passed. */
export async function dueSchedules(db: Database, nowMicros: number, delay: number): Promise<ExportRow[]> {
  return db
    .select()
    .from(bulkExports)
    .where(
      and(
        isNotNull(bulkExports.intervalHours),
        eq(bulkExports.status, "CREATED"),
        lte(
          sql`${bulkExports.startTime} + (${bulkExports.spawned} + 1) * ${bulkExports.intervalHours} * 3600000000`,
          nowMicros - delay,
        ),
        sql`NOT EXISTS (SELECT 1 FROM workspaces w WHERE w.id = ${bulkExports.workspaceId} AND w.settings ->> 'exports' = 0)`,
      ),
    )
    .orderBy(bulkExports.updatedAt)
    .limit(AT_ONCE)
    .all();
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
  const lost = await takeLostRuns(db, now - limits.resendAfter, now);
  const orphaned = await takeOrphanedUploads(db, now);
  for (const message of [...lost, ...orphaned]) await deps.send(message);
}

/** Spawns the due windows of every active schedule. */
export async function spawnDue(deps: ExportDeps): Promise<void> {
  let left = SPAWNED_AT_ONCE;
  for (const due of await dueSchedules(deps.db, deps.now() * 1000, SPAWN_DELAY)) {
    if (left === 0) return;
    left -= await catchUp(deps, due, Math.min(CATCH_UP, left));
  }
}

/** Spawns the windows of a schedule that are due, oldest first, within the workspace's quota. Returns their number. */
async function catchUp(deps: ExportDeps, due: ExportRow, most: number): Promise<number> {
  const now = deps.now();
  const { recent } = await countForQuota(deps.db, due.workspaceId, now - HOUR_MICROS / 1000);
  const room = Math.min(most, deps.limits.spawnedPerHour - recent);
  let schedule = due;
  for (let made = 0; made < room; made++) {
    const { startTime, endTime, dueAt } = scheduleWindow(due.startTime, due.intervalHours ?? 1, schedule.spawned + 1);
    if (dueAt > now * 1000) return made;
    if (!(await spawn(deps.db, schedule, { id: deps.newId(), startTime, endTime, now }))) return made;
    schedule = { ...schedule, spawned: schedule.spawned + 1 };
  }
  return Math.max(0, room);
}
