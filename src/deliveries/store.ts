import { and, desc, eq, gt, isNull, lt, or, type SQL } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { deleteOverdue } from "../db/writes.ts";
import { webhookSecrets } from "./table.ts";

export type WebhookSecretRow = typeof webhookSecrets.$inferSelect;

/** A workspace's secrets that sign at `now` (milliseconds since 1970), newest first. */
export async function listSecrets(db: Database, workspaceId: string, now: number): Promise<WebhookSecretRow[]> {
  return db
    .select()
    .from(webhookSecrets)
    .where(and(eq(webhookSecrets.workspaceId, workspaceId), endsAfter(now)))
    .orderBy(desc(webhookSecrets.createdAt))
    .all();
}

/** Inserts the secret. All other secrets of its workspace stop signing at `until` at the latest. */
export async function rotateSecret(db: Database, row: WebhookSecretRow, until: number): Promise<void> {
  const later = and(eq(webhookSecrets.workspaceId, row.workspaceId), endsAfter(until));
  await db.batch([
    db.update(webhookSecrets).set({ expiresAt: until }).where(later),
    db.insert(webhookSecrets).values(row),
  ]);
}

export async function findSecret(db: Database, workspaceId: string, id: string): Promise<WebhookSecretRow | undefined> {
  return db
    .select()
    .from(webhookSecrets)
    .where(and(eq(webhookSecrets.workspaceId, workspaceId), eq(webhookSecrets.id, id)))
    .get();
}

/** The deleted secret; undefined when this workspace has none with the id. */
export async function deleteSecret(
  db: Database,
  workspaceId: string,
  id: string,
): Promise<WebhookSecretRow | undefined> {
  return db
    .delete(webhookSecrets)
    .where(and(eq(webhookSecrets.workspaceId, workspaceId), eq(webhookSecrets.id, id)))
    .returning()
    .get();
}

export async function deleteExpiredSecrets(db: Database, now: number): Promise<void> {
  await deleteOverdue(db, webhookSecrets, lt(webhookSecrets.expiresAt, now));
}

function endsAfter(time: number): SQL | undefined {
  return or(isNull(webhookSecrets.expiresAt), gt(webhookSecrets.expiresAt, time));
}
