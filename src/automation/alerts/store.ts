/** D1: alerts, their states, and their history. */
import { and, asc, eq, sql } from "drizzle-orm";
import { type AlertNotice, type AlertState, alerts } from "./table.ts";
import type { Database } from "../../db/client.ts";
import { inList } from "../../db/conditions.ts";
import { inTurns } from "../../lib/due-work.ts";
import { insertBelow, rowIf } from "../../db/writes.ts";
import { deleteEvents, newEvent } from "../../deliveries/events.ts";
import { deliveryEvents } from "../../deliveries/table.ts";
import { deriveUuid } from "../../lib/uuid.ts";

export type AlertRow = typeof alerts.$inferSelect;

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
  const changes = { ...given, streak: 0, error: null, updatedAt: Date.now() };
  return db.update(alerts).set(changes).where(isAlert(workspaceId, id)).returning().get();
}

export async function deleteAlert(db: Database, workspaceId: string, id: string): Promise<void> {
  await deleteEvents(db, [id]);
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
  error: string | null;
  at: number;
}

/** The notice that the channels of an alert get of a change. */
export const toNotice = (
  { name, projectId, filter, condition }: AlertRow,
  change: Pick<AlertNotice, "from" | "to" | "value" | "at">,
): AlertNotice => ({ ...change, name, projectId, filter, condition });

/**
 * Writes an evaluation, and its event when the state has changed. Nothing is written when another tick has evaluated the alert
 * or a request has changed it in between.
 */
export async function writeEvaluation(
  db: Database,
  alert: AlertRow,
  { state, streak, value, error, at }: AlertEvaluation,
) {
  const isChanged = state !== alert.state;
  const changes = { state, streak, value, error, evaluatedAt: at, ...(isChanged && { changedAt: at }) };
  const asRead = and(
    eq(alerts.id, alert.id),
    eq(alerts.evaluatedAt, alert.evaluatedAt),
    eq(alerts.updatedAt, alert.updatedAt),
  );
  const update = db.update(alerts).set(changes).where(asRead).returning({ id: alerts.id });
  if (!isChanged) return void (await update);
  const id = deriveUuid(["alert", alert.id, String(at), state].join("\n"));
  const notice = { ...toNotice(alert, { from: alert.state, to: state, value, at }) };
  const row = newEvent(
    { id, workspaceId: alert.workspaceId, owner: alert.id, event: notice, at },
    alert.channels.map((channel) => channel.id),
  );
  const isThere = sql`EXISTS (SELECT 1 FROM ${alerts} WHERE ${asRead})`;
  await db.batch([db.insert(deliveryEvents).select(rowIf(deliveryEvents, row, isThere)), update]);
}
