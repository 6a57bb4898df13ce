/** D1: the deletion of API keys, with the OAuth grants that were allowed with them. */
import { and, eq, inArray, isNull, type SQL, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { apiKeys } from "../table.ts";
import { oauthGrants } from "../../db/oauth.ts";
import { forgetCredentials } from "../../auth/credential-cache.ts";
import { keyEnds } from "../../auth/ended-store.ts";
import type { ApiKeyRow, GrantRow } from "./store.ts";

export interface Deletion {
  workspaceId: string;
  /** The id of the key. */
  id: string;
  /** Also the keys that were rolled to it, whose overlap would continue. */
  predecessors: boolean;
}

export interface Deleted {
  keys: ApiKeyRow[];
  /** The grants that were allowed with the keys, and had not been revoked. */
  grants: GrantRow[];
}

/** What a deletion concerns. It finds a grant even after its key was deleted. */
function deletionConditions({ workspaceId, id, predecessors }: Deletion) {
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
export async function findDeletion(db: Database, deletion: Deletion): Promise<Deleted> {
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
export async function deleteKeys(db: Database, deletion: Deletion, now: number): Promise<Deleted> {
  const { keys, grants } = deletionConditions(deletion);
  const [revoked, gone] = await db.batch([
    db.update(oauthGrants).set({ revokedAt: now }).where(grants).returning(),
    db.delete(apiKeys).where(keys).returning(),
    ...keyEnds(db, now),
  ]);
  forgetCredentials();
  return { keys: gone, grants: revoked };
}
