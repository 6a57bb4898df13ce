import { and, desc, eq, isNull, lt, or, sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { deleteOverdue } from "../db/delete.ts";
import { auditLog } from "../db/schema.ts";

export type AuditRow = typeof auditLog.$inferSelect;

/** What is recorded. A new kind of change adds its name here, so that the list of them stays readable in one place. */
export type AuditAction =
  | "sign_in.succeeded"
  | "sign_in.failed"
  | "credential.refused"
  | "admin_key.used"
  | "workspace.created"
  | "api_key.created"
  | "api_key.updated"
  | "api_key.rolled"
  | "api_key.deleted"
  | "webhook_secret.created"
  | "webhook_secret.deleted"
  | "client.registered"
  | "grant.created"
  | "grant.denied"
  | "grant.refused"
  | "grant.revoked"
  | "grant.reuse_detected"
  | "destination.created"
  | "destination.updated"
  | "destination.deleted"
  | "export.created"
  | "export.cancelled";

export async function insertAudit(
  db: Database,
  row: Omit<AuditRow, "action"> & { action: AuditAction },
): Promise<void> {
  await db.insert(auditLog).values(row);
}

/** The newest entries of a workspace first; with `deployment`, also those that belong to no workspace. */
export async function listAudit(
  db: Database,
  { workspaceId, deployment, action, limit, offset }: AuditQuery,
): Promise<AuditRow[]> {
  const visible = eq(auditLog.workspaceId, workspaceId);
  return db
    .select()
    .from(auditLog)
    .where(
      and(
        deployment ? or(visible, isNull(auditLog.workspaceId)) : visible,
        action === undefined ? undefined : eq(auditLog.action, action),
      ),
    )
    .orderBy(desc(auditLog.at), desc(sql`rowid`))
    .limit(limit)
    .offset(offset)
    .all();
}

interface AuditQuery {
  workspaceId: string;
  deployment: boolean;
  action?: string;
  limit: number;
  offset: number;
}

/** Removes entries of no workspace (anonymous registrations) older than `before`, milliseconds since 1970. */
export async function forgetAnonymous(db: Database, before: number): Promise<void> {
  await deleteOverdue(db, auditLog, and(isNull(auditLog.workspaceId), lt(auditLog.at, before)));
}
