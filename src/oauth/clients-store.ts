/** The clients of a workspace. A client belongs to the deployment; what a workspace allowed it are its grants. */
import { and, count, desc, eq, max, sql } from "drizzle-orm";
import { forgetCredentials } from "../auth/credential-cache.ts";
import { keyEnds } from "../auth/ended-store.ts";
import type { Database } from "../db/client.ts";
import { oauthClients, oauthGrants } from "../db/oauth.ts";
import { type ClientRow, isOpenGrant } from "../access/oauth/store.ts";

export interface AllowedClient {
  client: ClientRow;
  /** How many grants it has in the workspace. */
  grants: number;
  /** Of all its grants. */
  scopes: string[];
  /** Milliseconds since 1970. */
  lastGrantedAt: number;
}

/** The clients with a grant of the workspace that has not ended, the one that was allowed last first. */
export async function listClients(
  db: Database,
  workspaceId: string,
  { limit, offset, now }: { limit: number; offset: number; now: number },
): Promise<AllowedClient[]> {
  const lastGrantedAt = max(oauthGrants.createdAt);
  const rows = await db
    .select({
      client: oauthClients,
      grants: count(),
      scopes: sql<string>`json_group_array(json(${oauthGrants.scopes}))`,
      lastGrantedAt,
    })
    .from(oauthGrants)
    .innerJoin(oauthClients, eq(oauthClients.id, oauthGrants.clientId))
    .where(isOpenGrant(workspaceId, now))
    .groupBy(oauthClients.id)
    .orderBy(desc(lastGrantedAt), desc(oauthClients.id))
    .limit(limit)
    .offset(offset)
    .all();
  return rows.map((row) => ({
    ...row,
    scopes: [...new Set((JSON.parse(row.scopes) as string[][]).flat())],
    lastGrantedAt: row.lastGrantedAt ?? 0,
  }));
}

const hasClient = (workspaceId: string, clientId: string, now: number) =>
  and(isOpenGrant(workspaceId, now), eq(oauthGrants.clientId, clientId));

/** The ids of the grants that a client has in the workspace and that have not ended. */
export async function listGrantIds(
  db: Database,
  workspaceId: string,
  clientId: string,
  now: number,
): Promise<string[]> {
  const rows = await db
    .select({ id: oauthGrants.id })
    .from(oauthGrants)
    .where(hasClient(workspaceId, clientId, now))
    .all();
  return rows.map(({ id }) => id);
}

/** Ends all grants that a client has in the workspace. Gives the ids of those that had not ended or expired before. */
export async function revokeClient(
  db: Database,
  workspaceId: string,
  clientId: string,
  now: number,
): Promise<string[]> {
  const [ended] = await db.batch([
    db
      .update(oauthGrants)
      .set({ revokedAt: now })
      .where(hasClient(workspaceId, clientId, now))
      .returning({ id: oauthGrants.id }),
    ...keyEnds(db, now),
  ]);
  forgetCredentials();
  return ended.map(({ id }) => id);
}
