import { and, asc, desc, eq, exists, isNull, or, type SQL } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { forgetCredentials } from "./known.ts";
import { apiKeys, oauthGrants, oauthTokens, workspaces } from "../db/schema.ts";

export type ApiKeyRow = typeof apiKeys.$inferSelect;
export type WorkspaceRow = typeof workspaces.$inferSelect;

/** A condition: no OAuth grant made the key, or one that has not ended. */
function grantLives(db: Database): SQL | undefined {
  const lives = and(eq(oauthGrants.id, apiKeys.grantId), isNull(oauthGrants.revokedAt));
  return or(isNull(apiKeys.grantId), exists(db.select({ id: oauthGrants.id }).from(oauthGrants).where(lives)));
}

/** The key with this hash, unless the OAuth grant that made it has ended. */
export async function findKeyByHash(db: Database, hash: string): Promise<ApiKeyRow | undefined> {
  return db
    .select()
    .from(apiKeys)
    .where(and(eq(apiKeys.hash, hash), grantLives(db)))
    .get();
}

/** What an access token stands for, in one read. */
export async function findAccess(db: Database, hash: string) {
  return db
    .select({
      grantId: oauthGrants.id,
      workspaceId: oauthGrants.workspaceId,
      resource: oauthGrants.resource,
      revokedAt: oauthGrants.revokedAt,
      scopes: oauthTokens.scopes,
      expiresAt: oauthTokens.expiresAt,
    })
    .from(oauthTokens)
    .innerJoin(oauthGrants, eq(oauthGrants.id, oauthTokens.grantId))
    .where(and(eq(oauthTokens.hash, hash), eq(oauthTokens.kind, "access")))
    .get();
}

/** All workspaces, or the one named, oldest first. */
export async function listWorkspaces(db: Database, id?: string): Promise<WorkspaceRow[]> {
  return db
    .select()
    .from(workspaces)
    .where(id === undefined ? undefined : eq(workspaces.id, id))
    .orderBy(asc(workspaces.createdAt), asc(workspaces.id))
    .all();
}

export async function findWorkspace(db: Database, id: string): Promise<WorkspaceRow | undefined> {
  return db.select().from(workspaces).where(eq(workspaces.id, id)).get();
}

/** Inserts the workspace; undefined when the id is taken. */
export async function insertWorkspace(db: Database, row: WorkspaceRow): Promise<WorkspaceRow | undefined> {
  return db.insert(workspaces).values(row).onConflictDoNothing().returning().get();
}

export async function insertKey(db: Database, row: ApiKeyRow): Promise<void> {
  await db.insert(apiKeys).values(row);
}

export async function listKeys(db: Database, workspaceId: string): Promise<ApiKeyRow[]> {
  return db
    .select()
    .from(apiKeys)
    .where(and(eq(apiKeys.workspaceId, workspaceId), grantLives(db)))
    .orderBy(desc(apiKeys.createdAt))
    .all();
}

/** The deleted key; undefined when this workspace has none with the id. */
export async function deleteKey(db: Database, workspaceId: string, id: string): Promise<ApiKeyRow | undefined> {
  const ended = await db
    .delete(apiKeys)
    .where(and(eq(apiKeys.workspaceId, workspaceId), eq(apiKeys.id, id)))
    .returning()
    .get();
  forgetCredentials();
  return ended;
}
