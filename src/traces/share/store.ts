/** D1: links by which anyone may read one trace or one dataset. */
import { and, eq } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { shares } from "../../db/schema.ts";

export type ShareRow = typeof shares.$inferSelect;
export type Target = Pick<ShareRow, "workspaceId" | "kind" | "targetId">;

const isTarget = ({ workspaceId, kind, targetId }: Target) =>
  and(eq(shares.workspaceId, workspaceId), eq(shares.kind, kind), eq(shares.targetId, targetId));

/** Inserts a share unless its target or its token has one. */
export async function insertShare(db: Database, row: ShareRow): Promise<void> {
  await db.insert(shares).values(row).onConflictDoNothing();
}

export async function findShare(db: Database, target: Target): Promise<ShareRow | undefined> {
  return db.select().from(shares).where(isTarget(target)).get();
}

export async function findShareByHash(db: Database, hash: string): Promise<ShareRow | undefined> {
  return db.select().from(shares).where(eq(shares.hash, hash)).get();
}

export async function deleteShare(db: Database, target: Target): Promise<void> {
  await db.delete(shares).where(isTarget(target));
}

/** Deletes the shares of a project's traces. */
export async function deleteSharesOfProject(db: Database, workspaceId: string, projectId: string): Promise<void> {
  await db.delete(shares).where(and(eq(shares.workspaceId, workspaceId), eq(shares.projectId, projectId)));
}
