import { and, desc, eq, getTableColumns, gte, isNotNull, isNull, lt, lte, max, or, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { deleteOverdue } from "../../db/writes.ts";
import { auditLog, auditRoots } from "./table.ts";

export type AuditRow = typeof auditLog.$inferSelect;

/** The recorded actions. A new kind of change adds its name to this list. */
export type AuditAction =
  | "sign_in.succeeded"
  | "sign_in.failed"
  | "credential.refused"
  | "admin_key.used"
  | "audit_log.exported"
  | "workspace.created"
  | "api_key.created"
  | "api_key.updated"
  | "api_key.rolled"
  | "api_key.deleted"
  | "api_key.ended"
  | "role.updated"
  | "role.deleted"
  | "member.added"
  | "member.updated"
  | "member.removed"
  | "invitation.created"
  | "invitation.deleted"
  | "invitation.accepted"
  | "session.ended"
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
  | "destination.checked"
  | "trace.shared"
  | "trace.unshared"
  | "trace.deleted"
  | "dataset.shared"
  | "dataset.unshared"
  | "dataset.deleted"
  | "comparison.deleted"
  | "example.deleted"
  | "playground.called"
  | "annotation_queue.created"
  | "annotation_queue.updated"
  | "annotation_queue.deleted"
  | "annotation_queue.filled"
  | "annotation_queue.item_removed"
  | "prompt.created"
  | "prompt.updated"
  | "prompt.deleted"
  | "prompt.committed"
  | "prompt.tagged"
  | "prompt.untagged"
  | "run_rule.created"
  | "run_rule.updated"
  | "run_rule.deleted"
  | "run_rule.backfilled"
  | "alert.created"
  | "alert.updated"
  | "alert.deleted"
  | "alert.tested"
  | "feedback.deleted"
  | "feedback_config.deleted"
  | "feedback_link.created"
  | "interrupt_link.created"
  | "interrupt_link.revoked"
  | "interrupt.answered"
  | "thread.deleted"
  | "thread.pruned"
  | "run.deleted"
  | "project.updated"
  | "project.deleted"
  | "assistant.created"
  | "assistant.updated"
  | "assistant.deleted"
  | "cron.created"
  | "cron.updated"
  | "cron.deleted"
  | "workspace.emptied"
  | "masking.updated"
  | "flow_rule.updated"
  | "flow_rule.deleted"
  | "encryption_key.created"
  | "encryption_key.destroyed"
  | "budget.updated"
  | "budget.deleted"
  | "budget.approved"
  | "budget.declined"
  | "prices.updated"
  | "export.created"
  | "export.cancelled";

/** Appends an entry. One with an id that is there is the same entry, written again after a lost answer. */
export async function insertAudit(
  db: Database,
  row: Omit<AuditRow, "action" | "seq" | "prevHash" | "hash"> & { action: AuditAction },
): Promise<void> {
  await db.insert(auditLog).values(row).onConflictDoNothing();
}

/** Which entries to list: of a workspace; with `deployment`, also those that belong to no workspace. */
export interface AuditFilter {
  workspaceId: string;
  deployment: boolean;
  action?: string;
  /** Milliseconds since 1970: entries from `after` on, and before `before`. */
  after?: number;
  before?: number;
}

/** Entries, newest first. */
export async function listAudit(
  db: Database,
  filter: AuditFilter,
  { limit, offset }: { limit: number; offset: number },
): Promise<AuditRow[]> {
  return selectAudit(db)
    .where(whereAudit(filter))
    .orderBy(...NEWEST_FIRST)
    .limit(limit)
    .offset(offset)
    .all();
}

/** The position of an entry among all. */
export interface Position {
  at: number;
  rowid: number;
}

/** The entries after `position`, newest first. Unlike an offset, a position does not move when entries are added. */
export async function nextAudit(
  db: Database,
  filter: AuditFilter,
  limit: number,
  position?: Position,
): Promise<(AuditRow & Position)[]> {
  const { at, rowid } = position ?? {};
  const further =
    at === undefined || rowid === undefined
      ? undefined
      : or(lt(auditLog.at, at), and(eq(auditLog.at, at), lt(sql`rowid`, rowid)));
  return selectAudit(db)
    .where(and(whereAudit(filter), further))
    .orderBy(...NEWEST_FIRST)
    .limit(limit)
    .all();
}

const NEWEST_FIRST = [desc(auditLog.at), desc(sql`rowid`)];

function selectAudit(db: Database) {
  return db
    .select({ ...getTableColumns(auditLog), rowid: sql<number>`rowid` })
    .from(auditLog)
    .$dynamic();
}

function whereAudit({ workspaceId, deployment, action, after, before }: AuditFilter) {
  const visible = eq(auditLog.workspaceId, workspaceId);
  return and(
    deployment ? or(visible, isNull(auditLog.workspaceId)) : visible,
    action === undefined ? undefined : eq(auditLog.action, action),
    after === undefined ? undefined : gte(auditLog.at, after),
    before === undefined ? undefined : lt(auditLog.at, before),
  );
}

/**
 * Removes entries of no workspace (anonymous registrations) of the days before `before`, milliseconds since 1970: those up
 * to a root that the bucket has, so that what is left can be verified from it.
 */
export async function forgetAnonymous(db: Database, before: number): Promise<void> {
  const day = new Date(before).toISOString().slice(0, 10);
  const root = db
    .select({ seq: max(auditRoots.seq) })
    .from(auditRoots)
    .where(and(eq(auditRoots.workspaceId, ""), isNotNull(auditRoots.writtenAt), lt(auditRoots.day, day)));
  await deleteOverdue(db, auditLog, and(isNull(auditLog.workspaceId), lte(auditLog.seq, sql`(${root})`)));
}
