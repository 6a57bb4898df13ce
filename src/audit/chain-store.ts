/** D1: the chains of the audit trail and their daily roots. */
import { and, asc, desc, eq, isNull, isNotNull, type SQL, sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { auditLog, auditRoots } from "../access/audit/table.ts";
import type { AuditRow } from "../access/audit/store.ts";

export interface Link {
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
export async function writeLinks(db: Database, links: Link[]): Promise<void> {
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
