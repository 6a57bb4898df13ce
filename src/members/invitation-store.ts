import { and, desc, eq, exists, gt, isNull, lt, or, sql } from "drizzle-orm";
import type { MemberRow } from "../access/auth/sessions.ts";
import type { Database } from "../db/client.ts";
import { deleteOverdue } from "../db/writes.ts";
import { insertBelow, rowIf } from "../db/writes.ts";
import { invitations, members } from "../db/members.ts";
import { workspaces } from "../access/table.ts";
import { mayJoin } from "../access/members/store.ts";

export type InvitationRow = typeof invitations.$inferSelect;

/** The most invitations of a workspace that are listed, with those that were accepted or have expired. */
export const MOST_INVITATIONS = 1_000;
/** Days for which an invitation is listed that was accepted or has expired. */
const LISTED_DAYS = 30;

const isOpenInvitation = (now: number) => and(isNull(invitations.acceptedAt), gt(invitations.expiresAt, now));

/** Inserts an invitation. False when the workspace has as many as it may have. */
export async function insertInvitation(db: Database, row: InvitationRow): Promise<boolean> {
  return insertBelow(db, invitations, row, eq(invitations.workspaceId, row.workspaceId), MOST_INVITATIONS);
}

export async function findInvitation(
  db: Database,
  workspaceId: string,
  id: string,
): Promise<InvitationRow | undefined> {
  return db
    .select()
    .from(invitations)
    .where(and(eq(invitations.workspaceId, workspaceId), eq(invitations.id, id)))
    .get();
}

/** The invitations of a workspace, newest first. */
export async function listInvitations(db: Database, workspaceId: string, limit: number, offset: number) {
  return db
    .select()
    .from(invitations)
    .where(eq(invitations.workspaceId, workspaceId))
    .orderBy(desc(invitations.createdAt), desc(invitations.id))
    .limit(limit)
    .offset(offset)
    .all();
}

/** An invitation that may be accepted, by the hash of its secret. */
export async function findOpenInvitation(db: Database, hash: string, now: number) {
  return db
    .select({ invitation: invitations, workspace: workspaces.name })
    .from(invitations)
    .innerJoin(workspaces, eq(workspaces.id, invitations.workspaceId))
    .where(and(eq(invitations.hash, hash), isOpenInvitation(now)))
    .get();
}

/**
 * Makes the member of an invitation, in one transaction. False when it was accepted, deleted or changed in the meantime, the
 * person is a member, or the workspace has as many as it may have.
 */
export async function joinBy(db: Database, invitation: InvitationRow, row: MemberRow, now: number): Promise<boolean> {
  const mine = db
    .select({ one: sql`1` })
    .from(invitations)
    .where(and(eq(invitations.id, invitation.id), eq(invitations.memberId, row.id)));
  const [claimed] = await db.batch([
    db
      .update(invitations)
      .set({ acceptedAt: now, memberId: row.id })
      .where(and(eq(invitations.id, invitation.id), isOpenInvitation(now), mayJoin(db, row.workspaceId, row)))
      .returning({ id: invitations.id }),
    db.insert(members).select(rowIf(members, row, exists(mine))),
  ]);
  return claimed.length > 0;
}

/** Deletes an invitation that was not accepted. False when there is none. */
export async function deleteInvitation(db: Database, workspaceId: string, id: string): Promise<boolean> {
  const gone = await db
    .delete(invitations)
    .where(and(eq(invitations.workspaceId, workspaceId), eq(invitations.id, id), isNull(invitations.acceptedAt)))
    .returning({ id: invitations.id });
  return gone.length > 0;
}

/** Deletes invitations that expired or were accepted some time ago. */
export async function deleteOldInvitations(db: Database, now: number): Promise<void> {
  const before = now - LISTED_DAYS * 24 * 3600 * 1000;
  await deleteOverdue(db, invitations, or(lt(invitations.expiresAt, before), lt(invitations.acceptedAt, before)));
}
