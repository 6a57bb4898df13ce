/** D1: API keys that applications made, and that end with the OAuth grant of their application. */
import { type SQL, sql } from "drizzle-orm";
import type { AuditAction } from "../access/audit/store.ts";
import type { Database } from "../db/client.ts";
import type { KeyEnd } from "../access/table.ts";
import { apiKeys } from "../access/table.ts";
import { auditLog } from "../access/audit/table.ts";
import { forgetCredentials } from "./credential-cache.ts";

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
