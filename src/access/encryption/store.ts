/** D1: the data keys of workspaces. */
import { and, asc, eq, isNotNull, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { encryptionKeys } from "../table.ts";
import type { DataKeyRow } from "./ring.ts";

export type StoredKey = typeof encryptionKeys.$inferSelect;

const { id, wrapped, workspaceId, version } = encryptionKeys;

/** Oldest first. */
export async function readKeys(db: Database, workspace: string): Promise<DataKeyRow[]> {
  const rows = db.select({ id, wrapped }).from(encryptionKeys).where(eq(workspaceId, workspace));
  return rows.orderBy(asc(version)).all();
}

/** Oldest first. */
export async function listKeys(db: Database, workspace: string): Promise<StoredKey[]> {
  return db.select().from(encryptionKeys).where(eq(workspaceId, workspace)).orderBy(asc(version)).all();
}

/**
 * Adds a key as the newest of its workspace. `after` is the version that is the newest now, 0 for none. Undefined when another
 * request has added a key since.
 */
export async function addKey(
  db: Database,
  after: number,
  key: Pick<StoredKey, "id" | "workspaceId" | "wrapped" | "createdAt">,
): Promise<StoredKey | undefined> {
  const added = await db
    .insert(encryptionKeys)
    .values({ ...key, version: after + 1, destroyedAt: null })
    .onConflictDoNothing()
    .returning();
  return added[0];
}

/** Destroys a key that is not the newest of its workspace. */
export async function destroyKey(db: Database, workspace: string, keyId: string, now: number): Promise<void> {
  const newest = sql`(SELECT max(k.version) FROM encryption_keys k WHERE k.workspace_id = ${workspace})`;
  await db
    .update(encryptionKeys)
    .set({ wrapped: null, destroyedAt: now })
    .where(and(eq(workspaceId, workspace), eq(id, keyId), isNotNull(wrapped), sql`${version} < ${newest}`));
}

/** Replaces the wrapping of a key, unless the key has changed since it was read. */
export async function rewrapKey(db: Database, workspace: string, before: DataKeyRow, fresh: string): Promise<void> {
  await db
    .update(encryptionKeys)
    .set({ wrapped: fresh })
    .where(and(eq(workspaceId, workspace), eq(id, before.id), eq(wrapped, before.wrapped ?? "")));
}
