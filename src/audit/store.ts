import { and, desc, eq, isNull, lt, or, sql } from "drizzle-orm";
import type { Principal } from "../auth/principal.ts";
import type { Database } from "../db/client.ts";
import { deleteOverdue } from "../db/delete.ts";
import { auditLog } from "../db/schema.ts";

export type AuditRow = typeof auditLog.$inferSelect;

/** What is recorded. A new kind of change adds its name here, so that the list of them stays readable in one place. */
type AuditAction =
  | "workspace.created"
  | "api_key.created"
  | "api_key.deleted"
  | "webhook_secret.created"
  | "webhook_secret.deleted"
  | "client.registered"
  | "grant.created"
  | "grant.revoked"
  | "grant.reuse_detected"
  | "destination.created"
  | "destination.updated"
  | "destination.deleted";

export interface AuditEntry {
  /** Null when the change belongs to the deployment and no workspace. */
  workspaceId: string | null;
  /** A Principal, or who acted in its place. */
  actor: Pick<Principal, "credentialId"> & { kind: string };
  action: AuditAction;
  /** The id of what changed. */
  targetId: string;
  /** Names and hosts that help a reader. Never a secret. */
  detail?: Record<string, unknown>;
}

/** Appends one entry to the audit trail (`GET /api/v1/audit-log`). */
export async function audit(db: Database, entry: AuditEntry): Promise<void> {
  await db.insert(auditLog).values({
    id: crypto.randomUUID(),
    workspaceId: entry.workspaceId,
    at: Date.now(),
    actorKind: entry.actor.kind,
    actorId: entry.actor.credentialId,
    action: entry.action,
    targetId: entry.targetId,
    detail: entry.detail ?? {},
  });
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
