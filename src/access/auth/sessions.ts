/** D1: the sessions of members' browsers. */
import { and, desc, eq, gt, lt, notInArray, or } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { deleteOverdue } from "../../db/writes.ts";
import { members, memberSessions } from "../table.ts";
import { forgetCredentials } from "./store.ts";
import { getCookie } from "hono/cookie";
import type { Context } from "hono";
import { cookieName, isOwnOrigin } from "../../http/html.ts";
import type { App } from "../../http/context.ts";
import { changesState } from "../../http/route.ts";

export type MemberRow = typeof members.$inferSelect;
export type SessionRow = typeof memberSessions.$inferSelect;

/** The most sessions of a member. A further sign-in ends the one that was used least recently. */
const MAX_SESSIONS = 20;
const HOUR_MS = 3_600_000;
/** A session ends after this time, used or not. */
export const SESSION_MS = 7 * 24 * HOUR_MS;
/** It ends earlier when it was not used for this time. */
const IDLE_MS = 24 * HOUR_MS;

/** When the session ends if it is not used again, milliseconds since 1970. */
export function endOfSession({ lastUsedAt, expiresAt }: SessionRow): number {
  return Math.min(expiresAt, lastUsedAt + IDLE_MS);
}

/** Sessions that have not ended. */
const isValidSession = (now: number) =>
  and(gt(memberSessions.expiresAt, now), gt(memberSessions.lastUsedAt, now - IDLE_MS));

/** A session that has not ended, with its member, by the hash of its secret. */
export async function findSession(
  db: Database,
  hash: string,
  now: number,
): Promise<{ session: SessionRow; member: MemberRow } | undefined> {
  return db
    .select({ session: memberSessions, member: members })
    .from(memberSessions)
    .innerJoin(members, eq(members.id, memberSessions.memberId))
    .where(and(eq(memberSessions.hash, hash), isValidSession(now)))
    .get();
}

/** The member's sessions that have not ended, the last used first. */
export async function listSessions(db: Database, memberId: string, now: number): Promise<SessionRow[]> {
  return db
    .select()
    .from(memberSessions)
    .where(and(eq(memberSessions.memberId, memberId), isValidSession(now)))
    .orderBy(desc(memberSessions.lastUsedAt))
    .all();
}

/** Inserts a session. Of those of its member the last used ones stay. */
export async function insertSession(db: Database, row: SessionRow): Promise<void> {
  const own = eq(memberSessions.memberId, row.memberId);
  const kept = db
    .select({ id: memberSessions.id })
    .from(memberSessions)
    .where(own)
    .orderBy(desc(memberSessions.lastUsedAt), desc(memberSessions.createdAt))
    .limit(MAX_SESSIONS);
  await db.batch([
    db.insert(memberSessions).values(row),
    db.delete(memberSessions).where(and(own, notInArray(memberSessions.id, kept))),
  ]);
  forgetCredentials();
}

/** Ends a session of the member. False when there is none. */
export async function endSession(db: Database, memberId: string, id: string): Promise<boolean> {
  const ended = await db
    .delete(memberSessions)
    .where(and(eq(memberSessions.memberId, memberId), eq(memberSessions.id, id)))
    .returning({ id: memberSessions.id });
  forgetCredentials();
  return ended.length > 0;
}

/** Records the use of a session, unless a use since `before` is recorded. Milliseconds since 1970. */
export async function noteSessionUse(db: Database, hash: string, now: number, before: number): Promise<void> {
  await db
    .update(memberSessions)
    .set({ lastUsedAt: now })
    .where(and(eq(memberSessions.hash, hash), lt(memberSessions.lastUsedAt, before)));
}

export async function deleteEndedSessions(db: Database, now: number): Promise<void> {
  const ended = or(lt(memberSessions.expiresAt, now), lt(memberSessions.lastUsedAt, now - IDLE_MS));
  await deleteOverdue(db, memberSessions, ended);
}

// The session of a member's browser: a cookie that pages of this server send. A browser adds it to requests that other sites cause,
// so a request is served by it only when it comes from a page of this server.

export const SESSION_COOKIE = "weir_session";

export function sessionSecret(c: Context<App>): string | undefined {
  return getCookie(c, cookieName(c, SESSION_COOKIE)) || undefined;
}

/** Whether a page of this server, or the person at the address bar, makes this request. */
export function isFromOwnPage(c: Context<App>): boolean {
  const { method } = c.req;
  const reads = (method === "GET" || method === "HEAD") && !changesState(c.req.raw);
  if (!reads || c.req.header("origin") !== undefined) return isOwnOrigin(c);
  return ["same-origin", "none"].includes(c.req.header("sec-fetch-site") ?? "none");
}
