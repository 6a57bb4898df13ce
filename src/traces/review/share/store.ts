/** D1: links by which anyone may read one trace or one dataset. */
import { and, eq, gt, isNotNull, isNull, lte, or } from "drizzle-orm";
import { inList } from "../../../db/conditions.ts";
import type { Database } from "../../../db/client.ts";
import { shares } from "../datasets/table.ts";

export type ShareRow = typeof shares.$inferSelect;
export type Target = Pick<ShareRow, "workspaceId" | "kind" | "targetId">;

const isTarget = ({ workspaceId, kind, targetId }: Target) =>
  and(eq(shares.workspaceId, workspaceId), eq(shares.kind, kind), eq(shares.targetId, targetId));

const isOver = () => and(isNotNull(shares.expiresAt), lte(shares.expiresAt, Date.now()));
const isValid = () => or(isNull(shares.expiresAt), gt(shares.expiresAt, Date.now()));

/** Inserts a share unless its target or its token has one. A share of the target that has expired makes room. */
export async function insertShare(db: Database, row: ShareRow): Promise<void> {
  await db.batch([
    db.delete(shares).where(and(isTarget(row), isOver())),
    db.insert(shares).values(row).onConflictDoNothing(),
  ]);
}

/** Sets when a share ends, milliseconds; null for never. */
export async function setShareExpiry(db: Database, target: Target, expiresAt: number | null): Promise<void> {
  await db.update(shares).set({ expiresAt }).where(isTarget(target));
}

export async function findShare(db: Database, target: Target): Promise<ShareRow | undefined> {
  return db
    .select()
    .from(shares)
    .where(and(isTarget(target), isValid()))
    .get();
}

export async function findShareByHash(db: Database, hash: string): Promise<ShareRow | undefined> {
  return db
    .select()
    .from(shares)
    .where(and(eq(shares.hash, hash), isValid()))
    .get();
}

export async function deleteShare(db: Database, target: Target): Promise<void> {
  await db.delete(shares).where(isTarget(target));
}

/** Deletes the shares of these traces of a project. Another project can have a trace of the same id. */
export async function deleteSharesOfTraces(
  db: Database,
  workspaceId: string,
  projectId: string,
  traceIds: string[],
): Promise<void> {
  const ofProject = and(eq(shares.workspaceId, workspaceId), eq(shares.projectId, projectId));
  await db.delete(shares).where(and(ofProject, eq(shares.kind, "run"), inList(shares.targetId, traceIds)));
}

/** A page of the traces of a project that are shared, after a trace. */
export async function sharedTraces(
  db: Database,
  { workspaceId, projectId }: { workspaceId: string; projectId: string },
  after: string,
  limit: number,
): Promise<string[]> {
  const ofProject = and(eq(shares.workspaceId, workspaceId), eq(shares.kind, "run"), eq(shares.projectId, projectId));
  const rows = await db
    .select({ id: shares.targetId })
    .from(shares)
    .where(and(ofProject, gt(shares.targetId, after)))
    .orderBy(shares.targetId)
    .limit(limit)
    .all();
  return rows.map(({ id }) => id);
}

export async function deleteSharesOfProject(db: Database, workspaceId: string, projectId: string): Promise<void> {
  await db.delete(shares).where(and(eq(shares.workspaceId, workspaceId), eq(shares.projectId, projectId)));
}
