/** D1: the deletion of API keys, with the OAuth grants that were allowed with them. */
import { type SQL, sql, and, eq, inArray, isNull } from "drizzle-orm";
import type { AuditAction } from "../audit/store.ts";
import type { Database } from "../../db/client.ts";
import { type KeyEnd, apiKeys, oauthGrants } from "../table.ts";
import { auditLog } from "../audit/table.ts";
import { forgetCredentials, type ApiKeyRow, type GrantRow } from "./store.ts";

// D1: API keys that applications made, and that end with the OAuth grant of their application.

const AT_ONCE = 1_000;
/** How many batches one call makes at most. D1 allows 1,000 queries an invocation. */
const BATCHES = 10;

const ACTION: AuditAction = "api_key.ended";
const UUID = sql.raw(
  "lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-8' || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))",
);

/** Why a key ended, by its grant `g`. */
const REASON = sql<KeyEnd>`CASE WHEN g.id IS NULL THEN 'grant_lapsed' WHEN g.revoked_at IS NOT NULL THEN 'grant_revoked' ELSE 'grant_expired' END`;

/** At most `AT_ONCE` keys whose grant has ended, with the reason and the time. Keys that expired before their grant are excluded. */
const selectEndedKeys = (now: number): SQL => sql`(
  SELECT k.id, k.workspace_id, k.name, k.grant_id, g.client_id, ${REASON} AS reason,
    coalesce(g.revoked_at, g.expires_at, ${now}) AS at
  FROM api_keys k LEFT JOIN oauth_grants g ON g.id = k.grant_id
  WHERE k.grant_id IS NOT NULL AND k.end_reason IS NULL
    AND (g.id IS NULL OR g.revoked_at IS NOT NULL OR g.expires_at <= ${now})
    AND (k.expires_at IS NULL OR k.expires_at > coalesce(g.revoked_at, g.expires_at, ${now}))
  ORDER BY k.id LIMIT ${AT_ONCE}) e`;

/**
 * The statements of a batch by which keys expire whose grant has ended, each with an entry in the audit trail. They follow
 * the statement that ends the grant.
 */
export function keyEnds(db: Database, now: number) {
  const ended = selectEndedKeys(now);
  return [
    db.insert(auditLog).select(
      sql`SELECT ${UUID}, e.workspace_id, ${now}, 'system', '', ${ACTION}, e.id,
        json_object('name', e.name, 'reason', e.reason, 'grant_id', e.grant_id, 'client_id', e.client_id), NULL, NULL, NULL, NULL, NULL FROM ${ended}`,
    ),
    db
      .update(apiKeys)
      .set({
        endReason: sql`(SELECT e.reason FROM ${ended} WHERE e.id = ${apiKeys.id})`,
        expiresAt: sql`(SELECT e.at FROM ${ended} WHERE e.id = ${apiKeys.id})`,
      })
      .where(sql`${apiKeys.id} IN (SELECT e.id FROM ${ended})`)
      .returning({ id: apiKeys.id }),
  ] as const;
}

/** Ends the keys whose grant has expired or is deleted: at most 10,000 in one call. */
export async function endKeys(db: Database, now: number): Promise<void> {
  for (let batch = 0; batch < BATCHES; batch++) {
    const [, ended] = await db.batch(keyEnds(db, now));
    if (ended.length > 0) forgetCredentials();
    if (ended.length < AT_ONCE) return;
  }
}

export interface KeyDeletion {
  workspaceId: string;
  /** The id of the key. */
  id: string;
  /** Also the keys that were rolled to it, whose overlap would continue. */
  predecessors: boolean;
}

export interface DeletedKeys {
  keys: ApiKeyRow[];
  /** The grants that were allowed with the keys, and had not been revoked. */
  grants: GrantRow[];
}

/** What a deletion concerns. It finds a grant even after its key was deleted. */
function deletionConditions({ workspaceId, id, predecessors }: KeyDeletion) {
  const chain = sql`(WITH RECURSIVE chain(id) AS (SELECT ${id} UNION
    SELECT k.id FROM api_keys k JOIN chain c ON k.successor_id = c.id WHERE k.workspace_id = ${workspaceId})
    SELECT id FROM chain)`;
  const isOne = (column: typeof apiKeys.id | typeof oauthGrants.credentialId): SQL =>
    predecessors ? inArray(column, chain) : eq(column, id);
  return {
    keys: and(eq(apiKeys.workspaceId, workspaceId), isOne(apiKeys.id)),
    grants: and(
      eq(oauthGrants.workspaceId, workspaceId),
      isOne(oauthGrants.credentialId),
      isNull(oauthGrants.revokedAt),
    ),
  };
}

/** What `deleteKeys` would delete and revoke. */
export async function findKeyDeletion(db: Database, deletion: KeyDeletion): Promise<DeletedKeys> {
  const { keys, grants } = deletionConditions(deletion);
  const [foundKeys, foundGrants] = await db.batch([
    db.select().from(apiKeys).where(keys),
    db.select().from(oauthGrants).where(grants),
  ]);
  return { keys: foundKeys, grants: foundGrants };
}

/**
 * Deletes the keys and ends the grants that were allowed with them, in one transaction: a grant whose key is gone would have
 * neither its role nor its networks.
 */
export async function deleteKeys(db: Database, deletion: KeyDeletion, now: number): Promise<DeletedKeys> {
  const { keys, grants } = deletionConditions(deletion);
  const [revoked, gone] = await db.batch([
    db.update(oauthGrants).set({ revokedAt: now }).where(grants).returning(),
    db.delete(apiKeys).where(keys).returning(),
    ...keyEnds(db, now),
  ]);
  forgetCredentials();
  return { keys: gone, grants: revoked };
}
