import {
  and,
  desc,
  eq,
  getTableColumns,
  gte,
  isNotNull,
  isNull,
  lt,
  lte,
  max,
  or,
  sql,
  asc,
  type SQL,
} from "drizzle-orm";
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
  | "alert.resent"
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
export interface AuditPosition {
  at: number;
  rowid: number;
}

/** The entries after `position`, newest first. Unlike an offset, a position does not move when entries are added. */
export async function nextAudit(
  db: Database,
  filter: AuditFilter,
  limit: number,
  position?: AuditPosition,
): Promise<(AuditRow & AuditPosition)[]> {
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

// D1: the chains of the audit trail and their daily roots.

export interface ChainLink {
  id: string;
  seq: number;
  prevHash: string;
  hash: string;
}

export type RootRow = typeof auditRoots.$inferSelect;

/** The chain of entries that belong to no workspace. */
const chainName = (workspaceId: string | null) => workspaceId ?? "";

function isInChain(workspaceId: string | null): SQL {
  return workspaceId === null ? isNull(auditLog.workspaceId) : eq(auditLog.workspaceId, workspaceId);
}

/** The workspaces with entries that are not chained. */
export async function unchainedWorkspaces(db: Database, most: number): Promise<(string | null)[]> {
  const rows = await db
    .selectDistinct({ workspaceId: auditLog.workspaceId })
    .from(auditLog)
    .where(isNull(auditLog.seq))
    .limit(most)
    .all();
  return rows.map(({ workspaceId }) => workspaceId);
}

/**
 * The end of a chain and the entries that come next, in the order in which they were written: one transaction, so that no
 * entry is between them. D1 has one writer, and a new entry has the highest rowid.
 */
export async function readUnchained(
  db: Database,
  workspaceId: string | null,
  most: number,
): Promise<{ head: { seq: number; hash: string } | undefined; rows: AuditRow[] }> {
  const end = { seq: auditLog.seq, hash: auditLog.hash };
  const [heads, roots, rows] = await db.batch([
    db
      .select(end)
      .from(auditLog)
      .where(and(isInChain(workspaceId), isNotNull(auditLog.seq)))
      .orderBy(desc(auditLog.seq))
      .limit(1),
    // The end itself may have been deleted, after its root was written.
    db
      .select({ seq: auditRoots.seq, hash: auditRoots.hash })
      .from(auditRoots)
      .where(eq(auditRoots.workspaceId, chainName(workspaceId)))
      .orderBy(desc(auditRoots.seq))
      .limit(1),
    db
      .select()
      .from(auditLog)
      .where(and(isInChain(workspaceId), isNull(auditLog.seq)))
      .orderBy(asc(sql`rowid`))
      .limit(most),
  ]);
  const ends = [...heads, ...roots].flatMap(({ seq, hash }) => (seq === null || hash === null ? [] : [{ seq, hash }]));
  return { head: ends.toSorted((a, b) => b.seq - a.seq)[0], rows };
}

/**
 * Puts entries into their chain, those that are not in it yet: one statement. It fails as a whole when another entry has
 * one of the places.
 */
export async function writeLinks(db: Database, links: ChainLink[]): Promise<void> {
  await db.run(
    sql`UPDATE audit_log SET seq = l.value ->> 'seq', prev_hash = l.value ->> 'prevHash', hash = l.value ->> 'hash'
      FROM json_each(${JSON.stringify(links)}) l WHERE audit_log.id = l.value ->> 'id' AND audit_log.seq IS NULL`,
  );
}

export async function hasRoots(db: Database, day: string): Promise<boolean> {
  return (
    (await db
      .select({ one: sql`1` })
      .from(auditRoots)
      .where(eq(auditRoots.day, day))
      .limit(1)
      .get()) !== undefined
  );
}

/** Notes the last entry of each chain on a day. `start` and `end`: milliseconds since 1970. */
export async function noteRoots(db: Database, day: string, start: number, end: number): Promise<void> {
  await db.run(
    sql`INSERT INTO audit_roots (workspace_id, day, seq, hash, written_at)
      SELECT coalesce(a.workspace_id, ''), ${day}, a.seq, a.hash, NULL FROM audit_log a JOIN (
        SELECT workspace_id AS workspace, max(seq) AS seq FROM audit_log
        WHERE at >= ${start} AND at < ${end} AND seq IS NOT NULL GROUP BY workspace_id
      ) last ON a.workspace_id IS last.workspace AND a.seq = last.seq
      WHERE true ON CONFLICT DO NOTHING`,
  );
}

/** Roots that are not in the bucket yet, the oldest first. */
export async function unwrittenRoots(db: Database, most: number): Promise<RootRow[]> {
  return db.select().from(auditRoots).where(isNull(auditRoots.writtenAt)).orderBy(auditRoots.day).limit(most).all();
}

export async function markWritten(db: Database, { workspaceId, day }: RootRow, now: number): Promise<void> {
  await db
    .update(auditRoots)
    .set({ writtenAt: now })
    .where(and(eq(auditRoots.workspaceId, workspaceId), eq(auditRoots.day, day)));
}
