import { RowCache } from "../../lib/cache.ts";
import type { Principal } from "../../http/principal.ts";
import {
  and,
  asc,
  desc,
  eq,
  exists,
  gt,
  inArray,
  isNotNull,
  isNull,
  lt,
  lte,
  or,
  type SQL,
  sql,
  notExists,
} from "drizzle-orm";
import { insertBelow, rowIf, deleteOverdue } from "../../db/writes.ts";
import type { Database } from "../../db/client.ts";
import { apiKeys, workspaces, members, oauthGrants, oauthTokens, roles, invitations } from "../table.ts";

// Credentials that this isolate has just looked up, by their hash. Code that ends a credential calls
// `forgetCredentials`.

/** The identity and rights that a key, token or session grants. */
export interface Credential {
  principal: Principal;
  /** RFC 8707: the path under which a token works; null is the whole server. */
  resource: string | null;
  /** Milliseconds since 1970; Infinity for a key that does not expire. */
  expiresAt: number;
  /** Of a key or session: when its last use was noted, milliseconds since 1970. */
  lastUsedAt?: number;
}

const cache = new RowCache<Credential>(({ expiresAt }) => expiresAt);

/** The credential with this hash: cached, or found by `find` and then cached. */
export async function readCredential(
  hash: string,
  find: () => Promise<Credential | undefined>,
): Promise<Credential | undefined> {
  return cache.get(hash, find);
}

/** To be called when a credential ends. Other isolates notice within five seconds. */
export function forgetCredentials(): void {
  cache.forget();
}

export type ApiKeyRow = typeof apiKeys.$inferSelect;
export type GrantRow = typeof oauthGrants.$inferSelect;
export type WorkspaceRow = typeof workspaces.$inferSelect;

export function hasExpired({ expiresAt }: Pick<ApiKeyRow, "expiresAt">): boolean {
  return expiresAt !== null && expiresAt <= Date.now();
}

/** The id of a member as the `credentialId` of what the person allowed. */
export const MEMBER = "member:";

/** The id of the member who allowed the grant; nothing if no member did. */
const memberOfGrant = sql`CASE WHEN ${oauthGrants.credentialId} LIKE 'member:%' THEN substr(${oauthGrants.credentialId}, 8) END`;

/**
 * A condition: the API key with which a person allowed the grant exists, or the person is still a member, or they signed in
 * without either. A grant whose key or member is gone allows nothing: what its role and networks were is not known.
 */
export const isAllowed = sql<boolean>`(${oauthGrants.credentialId} = 'open' OR ${oauthGrants.credentialId} LIKE 'openid:%' OR EXISTS (
  SELECT 1 FROM api_keys k WHERE k.id = ${oauthGrants.credentialId} AND k.workspace_id = ${oauthGrants.workspaceId}) OR EXISTS (
  SELECT 1 FROM members m WHERE m.id = ${memberOfGrant} AND m.workspace_id = ${oauthGrants.workspaceId}))`;

/** A condition: no OAuth grant made the key, or one that has not ended. */
function grantLives(db: Database): SQL | undefined {
  const unexpired = or(isNull(oauthGrants.expiresAt), gt(oauthGrants.expiresAt, Date.now()));
  const lives = and(eq(oauthGrants.id, apiKeys.grantId), isNull(oauthGrants.revokedAt), unexpired, isAllowed);
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

/** Reads an access token with its grant. Undefined if the API key or member that allowed it was deleted. */
export async function findAccess(db: Database, hash: string) {
  return db
    .select({
      grantId: oauthGrants.id,
      workspaceId: oauthGrants.workspaceId,
      resource: oauthGrants.resource,
      revokedAt: oauthGrants.revokedAt,
      scopes: oauthTokens.scopes,
      expiresAt: oauthTokens.expiresAt,
      grantExpiresAt: oauthGrants.expiresAt,
      /** The networks of the API key with which a person allowed it. */
      allowedIps: apiKeys.allowedIps,
      /** The role of that key, or of the member. */
      role: sql<string | null>`coalesce(${apiKeys.role}, ${members.role})`,
    })
    .from(oauthTokens)
    .innerJoin(oauthGrants, eq(oauthGrants.id, oauthTokens.grantId))
    .leftJoin(apiKeys, and(eq(apiKeys.id, oauthGrants.credentialId), eq(apiKeys.workspaceId, oauthGrants.workspaceId)))
    .leftJoin(members, and(eq(members.id, memberOfGrant), eq(members.workspaceId, oauthGrants.workspaceId)))
    .where(and(eq(oauthTokens.hash, hash), eq(oauthTokens.kind, "access"), isAllowed))
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

/** The most API keys of a workspace, with those that have expired and are still listed. */
export const MAX_KEYS = 10_000;

/** Inserts a key. False when the workspace has as many as it may have. */
export async function insertKey(db: Database, row: ApiKeyRow): Promise<boolean> {
  return insertBelow(db, apiKeys, row, eq(apiKeys.workspaceId, row.workspaceId), MAX_KEYS);
}

/** The keys of a workspace, and those that have expired or ended with their grant, newest first. */
export async function listKeys(db: Database, workspaceId: string): Promise<ApiKeyRow[]> {
  const listed = or(grantLives(db), isNotNull(apiKeys.endReason), lte(apiKeys.expiresAt, Date.now()));
  return db
    .select()
    .from(apiKeys)
    .where(and(eq(apiKeys.workspaceId, workspaceId), listed))
    .orderBy(desc(apiKeys.createdAt))
    .all();
}

export async function findKey(db: Database, workspaceId: string, id: string): Promise<ApiKeyRow | undefined> {
  return db
    .select()
    .from(apiKeys)
    .where(and(eq(apiKeys.workspaceId, workspaceId), eq(apiKeys.id, id), grantLives(db)))
    .get();
}

type KeyChange = Partial<Pick<ApiKeyRow, "name" | "scopes" | "expiresAt" | "allowedIps" | "role">>;

/** What others may change of a key, and what its successor takes over. */
const TERMS = ["name", "scopes", "expiresAt", "allowedIps", "grantId", "role", "successorId"] as const;

/** The key, if its terms are those that were read. */
export function unchangedKey(db: Database, read: ApiKeyRow) {
  const terms = TERMS.map((name) => {
    const [now, then] = [apiKeys[name], sql.param(read[name], apiKeys[name])];
    // The text of the column may have another format than `JSON.stringify` gives.
    return now.columnType === "SQLiteTextJson" ? sql`json(${now}) IS json(${then})` : sql`${now} IS ${then}`;
  });
  return db
    .select({ id: apiKeys.id })
    .from(apiKeys)
    .where(and(eq(apiKeys.workspaceId, read.workspaceId), eq(apiKeys.id, read.id), ...terms));
}

/**
 * Changes a key. Its OAuth grants end when it does. Undefined when the key has been deleted, or its terms are no longer those
 * that were read, with which the change was checked.
 */
export async function updateKey(db: Database, read: ApiKeyRow, change: KeyChange): Promise<ApiKeyRow | undefined> {
  const unchanged = unchangedKey(db, read);
  const ends =
    change.expiresAt === undefined ? oauthGrants.expiresAt : sql.param(change.expiresAt, oauthGrants.expiresAt);
  const [, changed] = await db.batch([
    db
      .update(oauthGrants)
      .set({ expiresAt: sql`${ends}` })
      .where(and(isGrantOfKey(read.workspaceId, read.id), exists(unchanged))),
    db
      .update(apiKeys)
      .set({ ...change, ...(change.expiresAt !== undefined && { endReason: null }) })
      .where(inArray(apiKeys.id, unchanged))
      .returning(),
  ]);
  forgetCredentials();
  return changed[0];
}

/**
 * Inserts the successor of a key, which ends at `until`. Its OAuth grants go to the successor. False when the key has been
 * deleted, or its terms are no longer those that were read, which are the successor's.
 */
export async function rollKey(db: Database, old: ApiKeyRow, successor: ApiKeyRow, until: number): Promise<boolean> {
  const { workspaceId, id } = old;
  const expiresAt = Math.min(until, old.expiresAt ?? Infinity);
  const isOld = and(eq(apiKeys.workspaceId, workspaceId), eq(apiKeys.id, id));
  const made = exists(db.select({ id: apiKeys.id }).from(apiKeys).where(eq(apiKeys.id, successor.id)));
  const [rolled] = await db.batch([
    db
      .insert(apiKeys)
      .select(rowIf(apiKeys, successor, exists(unchangedKey(db, old))))
      .returning({ id: apiKeys.id }),
    db.update(apiKeys).set({ expiresAt, successorId: successor.id }).where(and(isOld, made)),
    db
      .update(oauthGrants)
      .set({ credentialId: successor.id, expiresAt: successor.expiresAt })
      .where(and(isGrantOfKey(workspaceId, id), made)),
  ]);
  forgetCredentials();
  return rolled.length > 0;
}

function isGrantOfKey(workspaceId: string, credentialId: string): SQL | undefined {
  return and(eq(oauthGrants.workspaceId, workspaceId), eq(oauthGrants.credentialId, credentialId));
}

/** Records the use of a key, unless a use since `before` is recorded. Milliseconds since 1970. */
export async function noteKeyUse(db: Database, id: string, now: number, before: number): Promise<void> {
  await db
    .update(apiKeys)
    .set({ lastUsedAt: now })
    .where(and(eq(apiKeys.id, id), or(isNull(apiKeys.lastUsedAt), lt(apiKeys.lastUsedAt, before))));
}

/** Deletes keys that expired before this time, milliseconds since 1970. */
export async function deleteExpiredKeys(db: Database, before: number): Promise<void> {
  await deleteOverdue(db, apiKeys, lt(apiKeys.expiresAt, before));
}

// D1: the roles that a workspace has made.

export type RoleRow = typeof roles.$inferSelect;

const MAX_ROLES = 100;
const isRole = (workspaceId: string, name: string) => and(eq(roles.workspaceId, workspaceId), eq(roles.name, name));

/** Which keys and members have the role, and which invitations give it. One that was accepted gives nothing. */
function selectHolders(db: Database, workspaceId: string, name: string) {
  const having = (table: typeof apiKeys | typeof members | typeof invitations, also?: SQL) =>
    db
      .select({ id: table.id })
      .from(table)
      .where(and(eq(table.workspaceId, workspaceId), eq(table.role, name), also));
  return having(apiKeys)
    .unionAll(having(members))
    .unionAll(having(invitations, isNull(invitations.acceptedAt)));
}

export async function findRole(db: Database, workspaceId: string, name: string): Promise<RoleRow | undefined> {
  return db.select().from(roles).where(isRole(workspaceId, name)).get();
}

export async function listRoles(db: Database, workspaceId: string): Promise<RoleRow[]> {
  return db.select().from(roles).where(eq(roles.workspaceId, workspaceId)).orderBy(asc(roles.name)).all();
}

/** Makes or changes a role. False when the workspace has as many as it may have. */
export async function putRole(db: Database, row: RoleRow): Promise<boolean> {
  const { workspaceId, name, permissions, modifiedAt } = row;
  const changed = await db
    .update(roles)
    .set({ permissions, modifiedAt })
    .where(isRole(workspaceId, name))
    .returning({ name: roles.name });
  const held = changed.length > 0 || (await insertBelow(db, roles, row, eq(roles.workspaceId, workspaceId), MAX_ROLES));
  forgetCredentials();
  return held;
}

/** Whether a key, a member or an invitation has the role. */
export async function isRoleUsed(db: Database, workspaceId: string, name: string): Promise<boolean> {
  return (await selectHolders(db, workspaceId, name).limit(1)).length > 0;
}

/** Deletes a role that is not used. False when it is, or there is none. */
export async function deleteUnusedRole(db: Database, workspaceId: string, name: string): Promise<boolean> {
  const gone = await db
    .delete(roles)
    .where(and(isRole(workspaceId, name), notExists(selectHolders(db, workspaceId, name))))
    .returning({ name: roles.name });
  forgetCredentials();
  return gone.length > 0;
}
