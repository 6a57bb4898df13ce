/** D1: alerts, their states, and their history. */
import { and, asc, desc, eq, isNull, lt, lte, sql } from "drizzle-orm";
import { type AlertState, alertEvents, alerts } from "./table.ts";
import type { Database } from "../../db/client.ts";
import { inList } from "../../db/conditions.ts";
import { inTurns } from "../../lib/due-work.ts";
import { deleteAll, deleteOverdue, insertBelow } from "../../db/writes.ts";

export type AlertRow = typeof alerts.$inferSelect;
export type AlertEvent = typeof alertEvents.$inferSelect;

export const MAX_ALERTS = 100;

const isAlert = (workspaceId: string, id: string) => and(eq(alerts.workspaceId, workspaceId), eq(alerts.id, id));

/** False when the workspace has `MAX_ALERTS` alerts. */
export async function insertAlert(db: Database, row: AlertRow): Promise<boolean> {
  return insertBelow(db, alerts, row, eq(alerts.workspaceId, row.workspaceId), MAX_ALERTS);
}

export async function findAlert(db: Database, workspaceId: string, id: string): Promise<AlertRow | undefined> {
  return db.select().from(alerts).where(isAlert(workspaceId, id)).get();
}

/** Oldest first. */
export async function listAlerts(
  db: Database,
  workspaceId: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<AlertRow[]> {
  return db
    .select()
    .from(alerts)
    .where(eq(alerts.workspaceId, workspaceId))
    .orderBy(asc(alerts.createdAt), asc(alerts.id))
    .limit(limit)
    .offset(offset)
    .all();
}

/** The columns that a request sets. The others belong to the evaluation. */
export type AlertColumns = Pick<
  AlertRow,
  "projectId" | "name" | "filter" | "isEnabled" | "condition" | "channels" | "secrets"
>;

/** Writes what a request has given. The state stays, and counting begins again. */
export async function updateAlert(
  db: Database,
  { workspaceId, id }: AlertRow,
  given: AlertColumns,
): Promise<AlertRow | undefined> {
  const changes = { ...given, streak: 0, updatedAt: Date.now() };
  return db.update(alerts).set(changes).where(isAlert(workspaceId, id)).returning().get();
}

export async function deleteAlert(db: Database, workspaceId: string, id: string): Promise<void> {
  await deleteAll(db, alertEvents, eq(alertEvents.alertId, id));
  await db.delete(alerts).where(isAlert(workspaceId, id));
}

/** Alerts that were not evaluated since `before`, in turns. */
export async function dueAlerts(db: Database, before: number, limit: number): Promise<AlertRow[]> {
  const due = sql`SELECT id, workspace_id AS owner, evaluated_at AS due, 0 AS served FROM ${alerts}
    WHERE is_enabled = 1 AND evaluated_at <= ${before}`;
  const turns = await db.all<{ id: string }>(inTurns(due, limit));
  const order = turns.map(({ id }) => id);
  const rows = await db.select().from(alerts).where(inList(alerts.id, order)).all();
  return rows.sort((one, other) => order.indexOf(one.id) - order.indexOf(other.id));
}

export interface AlertEvaluation {
  state: AlertState;
  streak: number;
  value: number | null;
  at: number;
}

/**
 * Writes an evaluation, and its event when the state has changed. Nothing is written when another tick has evaluated the alert
 * or a request has changed it in between.
 */
export async function writeEvaluation(db: Database, alert: AlertRow, { state, streak, value, at }: AlertEvaluation) {
  const isChanged = state !== alert.state;
  const changes = { state, streak, value, evaluatedAt: at, ...(isChanged && { changedAt: at }) };
  const asRead = and(
    eq(alerts.id, alert.id),
    eq(alerts.evaluatedAt, alert.evaluatedAt),
    eq(alerts.updatedAt, alert.updatedAt),
  );
  const update = db.update(alerts).set(changes).where(asRead).returning({ id: alerts.id });
  if (!isChanged) return void (await update);
  const pending = alert.channels.map((_, number) => number);
  await db.batch([
    db.insert(alertEvents).select(
      sql`SELECT ${alert.id}, ${at}, ${alert.state}, ${state}, ${value}, ${JSON.stringify(pending)}, 0, ${at}, NULL
          FROM ${alerts} WHERE ${asRead}`,
    ),
    update,
  ]);
}

/** Events of which channels are to be notified now, the oldest first. */
export async function pendingEvents(
  db: Database,
  now: number,
  limit: number,
): Promise<{ event: AlertEvent; alert: AlertRow }[]> {
  return db
    .select({ event: alertEvents, alert: alerts })
    .from(alertEvents)
    .innerJoin(alerts, eq(alerts.id, alertEvents.alertId))
    .where(lte(alertEvents.nextAt, now))
    .orderBy(asc(alertEvents.nextAt))
    .limit(limit)
    .all();
}

/**
 * The event after the change. Undefined when it is no longer due at the time that was read: another sweep has it. A sweep takes an
 * event by setting this time forward.
 */
export async function changeEvent(
  db: Database,
  { alertId, at, nextAt }: AlertEvent,
  changes: Partial<Pick<AlertEvent, "pending" | "attempts" | "nextAt" | "error">>,
): Promise<AlertEvent | undefined> {
  const asRead = and(
    eq(alertEvents.alertId, alertId),
    eq(alertEvents.at, at),
    nextAt === null ? isNull(alertEvents.nextAt) : eq(alertEvents.nextAt, nextAt),
  );
  return db.update(alertEvents).set(changes).where(asRead).returning().get();
}

/** Newest first. */
export async function listEvents(
  db: Database,
  alertId: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<AlertEvent[]> {
  return db
    .select()
    .from(alertEvents)
    .where(eq(alertEvents.alertId, alertId))
    .orderBy(desc(alertEvents.at))
    .limit(limit)
    .offset(offset)
    .all();
}

export async function deleteOldEvents(db: Database, before: number): Promise<void> {
  await deleteOverdue(db, alertEvents, lt(alertEvents.at, before));
}
