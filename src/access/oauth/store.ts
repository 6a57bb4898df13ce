import {
  and,
  desc,
  eq,
  exists,
  gt,
  isNotNull,
  isNull,
  lt,
  ne,
  notExists,
  or,
  type SQL,
  sql,
  count,
  max,
} from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import { endKeys, keyEnds } from "../auth/key-deletion.ts";
import { forgetCredentials, type GrantRow, isAllowed } from "../auth/store.ts";
import type { Database } from "../../db/client.ts";
import { deleteOverdue, rowIf } from "../../db/writes.ts";
import { oauthClients, oauthCodes, oauthGrants, oauthSignIns, oauthTokens } from "../table.ts";

export type ClientRow = typeof oauthClients.$inferSelect;
export type SignInRow = typeof oauthSignIns.$inferSelect;
export type CodeRow = typeof oauthCodes.$inferSelect;
export type TokenRow = typeof oauthTokens.$inferSelect;

export async function insertClient(db: Database, row: ClientRow): Promise<void> {
  await db.insert(oauthClients).values(row);
}

export async function findClient(db: Database, id: string): Promise<ClientRow | undefined> {
  return db.select().from(oauthClients).where(eq(oauthClients.id, id)).get();
}

export async function insertSignIn(db: Database, row: SignInRow): Promise<void> {
  await db.insert(oauthSignIns).values(row);
}

/** A sign-in that has not expired and was not used. */
export async function findSignIn(db: Database, hash: string, now: number): Promise<SignInRow | undefined> {
  return db
    .select()
    .from(oauthSignIns)
    .where(and(eq(oauthSignIns.hash, hash), gt(oauthSignIns.expiresAt, now)))
    .get();
}

/** Removes the sign-in and returns it. A second call gets undefined. */
export async function takeSignIn(db: Database, hash: string, now: number): Promise<SignInRow | undefined> {
  return db
    .delete(oauthSignIns)
    .where(and(eq(oauthSignIns.hash, hash), gt(oauthSignIns.expiresAt, now)))
    .returning()
    .get();
}

/**
 * A person's yes: the grant, its code, and the client as it was shown, together. The token endpoint reads that client: it
 * fetches no metadata document. False when what the person signed in with is no longer as it was read (`unchanged`): the grant
 * would not end with it.
 */
export async function insertGrant(
  db: Database,
  client: ClientRow,
  grant: GrantRow,
  code: CodeRow,
  unchanged: SQL,
): Promise<boolean> {
  const { id: _id, createdAt: _createdAt, ...shown } = { ...client, usedAt: grant.createdAt };
  const granted = exists(db.select({ id: oauthGrants.id }).from(oauthGrants).where(eq(oauthGrants.id, grant.id)));
  const [inserted] = await db.batch([
    db
      .insert(oauthGrants)
      .select(rowIf(oauthGrants, grant, unchanged))
      .returning({ id: oauthGrants.id }),
    db.insert(oauthCodes).select(rowIf(oauthCodes, code, granted)),
    db
      .insert(oauthClients)
      .select(rowIf(oauthClients, { ...client, usedAt: grant.createdAt }, granted))
      .onConflictDoUpdate({ target: oauthClients.id, set: shown }),
  ]);
  return inserted.length > 0;
}

/** An authorization code with its grant, also when it was used or has expired. */
export async function findCode(db: Database, hash: string): Promise<{ code: CodeRow; grant: GrantRow } | undefined> {
  return db
    .select({ code: oauthCodes, grant: oauthGrants })
    .from(oauthCodes)
    .innerJoin(oauthGrants, eq(oauthGrants.id, oauthCodes.grantId))
    .where(and(eq(oauthCodes.hash, hash), isAllowed))
    .get();
}

/** An access or refresh token with its grant, also one that was replaced or has expired. */
export async function findToken(db: Database, hash: string): Promise<{ token: TokenRow; grant: GrantRow } | undefined> {
  return db
    .select({ token: oauthTokens, grant: oauthGrants })
    .from(oauthTokens)
    .innerJoin(oauthGrants, eq(oauthGrants.id, oauthTokens.grantId))
    .where(and(eq(oauthTokens.hash, hash), isAllowed))
    .get();
}

/**
 * Exchanges a code for tokens in one transaction: marks it with its successor and inserts the tokens. False when it was
 * exchanged before.
 */
export async function exchangeCode(db: Database, hash: string, tokens: NewTokens): Promise<boolean> {
  const successor = tokens[0].hash;
  const unused = and(eq(oauthCodes.hash, hash), isNull(oauthCodes.successor));
  const mine = db
    .select({ one: sql`1` })
    .from(oauthCodes)
    .where(and(eq(oauthCodes.hash, hash), eq(oauthCodes.successor, successor)));
  const [claimed] = await db.batch([
    db.update(oauthCodes).set({ successor }).where(unused).returning({ hash: oauthCodes.hash }),
    ...tokens.map((row) => insertTokenIf(db, row, exists(mine))),
  ]);
  return claimed.length > 0;
}

/**
 * Exchanges a refresh token for new tokens in one transaction. False when the token is spent (`isSpent`).
 */
export async function exchangeRefresh(db: Database, hash: string, tokens: NewTokens): Promise<boolean> {
  const good = notExists(selectSpentToken(db, hash));
  const [first, ...rest] = tokens;
  // Before it is marked as used, so that a used token always has children.
  const [inserted] = await db.batch([
    insertTokenIf(db, first, good),
    ...rest.map((row) => insertTokenIf(db, row, good)),
    db
      .update(oauthTokens)
      .set({ successor: first.hash })
      .where(and(eq(oauthTokens.hash, hash), isNull(oauthTokens.successor), good)),
  ]);
  return inserted.length > 0;
}

/**
 * Whether a refresh token must not be used again. An answer may get lost, so a token is good until a refresh token that came
 * from it is used; and of several tokens that came from one, the first that is used is good.
 */
export async function isSpent(db: Database, hash: string): Promise<boolean> {
  return (await selectSpentToken(db, hash).get()) !== undefined;
}

/** The token with this hash if it is spent. */
function selectSpentToken(db: Database, hash: string) {
  const token = alias(oauthTokens, "token");
  const other = alias(oauthTokens, "other");
  const others = (...where: SQL[]) =>
    exists(
      db
        .select({ one: sql`1` })
        .from(other)
        .where(and(...where)),
    );
  const used = [eq(other.kind, "refresh"), isNotNull(other.successor)];
  return db
    .select({ one: sql`1` })
    .from(token)
    .where(
      and(
        eq(token.hash, hash),
        or(
          others(...used, eq(other.parent, token.hash)),
          others(...used, eq(other.parent, token.parent), ne(other.hash, token.hash)),
        ),
      ),
    );
}

type NewTokens = [TokenRow, ...TokenRow[]];

function insertTokenIf(db: Database, row: TokenRow, condition: SQL) {
  const { hash, kind, grantId, scopes, expiresAt, successor, parent } = row;
  return db
    .insert(oauthTokens)
    .select(
      sql`select ${hash}, ${kind}, ${grantId}, ${JSON.stringify(scopes)}, ${expiresAt}, ${successor}, ${parent} where ${condition}`,
    )
    .returning({ hash: oauthTokens.hash });
}

/** Ends a grant and with it every token of its family. Undefined when there is none or it had ended. */
export async function revokeGrant(db: Database, id: string, now: number): Promise<GrantRow | undefined> {
  const [[ended]] = await db.batch([
    db
      .update(oauthGrants)
      .set({ revokedAt: now })
      .where(and(eq(oauthGrants.id, id), isNull(oauthGrants.revokedAt)))
      .returning(),
    ...keyEnds(db, now),
  ]);
  forgetCredentials();
  return ended;
}

export async function findGrant(db: Database, workspaceId: string, id: string): Promise<GrantRow | undefined> {
  return db
    .select()
    .from(oauthGrants)
    .where(and(eq(oauthGrants.workspaceId, workspaceId), eq(oauthGrants.id, id)))
    .get();
}

/** Grants of the workspace that have not ended. */
export const isOpenGrant = (workspaceId: string, now: number) =>
  and(
    eq(oauthGrants.workspaceId, workspaceId),
    isNull(oauthGrants.revokedAt),
    or(isNull(oauthGrants.expiresAt), gt(oauthGrants.expiresAt, now)),
  );

/** The workspace's grants that have not ended, newest first, each with its client. */
export async function listGrants(db: Database, workspaceId: string, limit: number, offset: number) {
  return db
    .select({ grant: oauthGrants, client: oauthClients })
    .from(oauthGrants)
    .leftJoin(oauthClients, eq(oauthClients.id, oauthGrants.clientId))
    .where(isOpenGrant(workspaceId, Date.now()))
    .orderBy(desc(oauthGrants.createdAt), desc(oauthGrants.id))
    .limit(limit)
    .offset(offset)
    .all();
}

const DAY_MS = 24 * 3600 * 1000;
/** Days that a client may wait for the first person who allows it. */
const UNUSED_CLIENT_DAYS = 7;

/**
 * Removes clients that were never granted access, expired sign-ins, codes and tokens, and grants without one of these. Codes
 * and tokens stay a day longer, so that a late replay is still known for what it is. Keys end with their grants.
 */
export async function forgetExpired(db: Database, now: number): Promise<void> {
  const unused = and(isNull(oauthClients.usedAt), lt(oauthClients.createdAt, now - UNUSED_CLIENT_DAYS * DAY_MS));
  await deleteOverdue(db, oauthClients, unused);
  await deleteOverdue(db, oauthSignIns, lt(oauthSignIns.expiresAt, now));
  await deleteOverdue(db, oauthCodes, lt(oauthCodes.expiresAt, now - DAY_MS));
  await deleteOverdue(db, oauthTokens, lt(oauthTokens.expiresAt, now - DAY_MS));
  const bare = and(
    lt(oauthGrants.createdAt, now - DAY_MS),
    notExists(db.select().from(oauthTokens).where(eq(oauthTokens.grantId, oauthGrants.id))),
    notExists(db.select().from(oauthCodes).where(eq(oauthCodes.grantId, oauthGrants.id))),
  );
  await deleteOverdue(db, oauthGrants, bare);
  await endKeys(db, now);
}

// The clients of a workspace. A client belongs to the deployment; what a workspace allowed it are its grants.

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
