import { and, asc, desc, eq, isNull, notExists, sql, exists, gt, lt, or } from "drizzle-orm";
import { forgetCredentials, type GrantRow, MEMBER } from "../auth/store.ts";
import { keyEnds } from "../auth/key-deletion.ts";
import type { MemberRow } from "../auth/sessions.ts";
import type { Database } from "../../db/client.ts";
import { fewerThan, rowIf, deleteOverdue, insertBelow } from "../../db/writes.ts";
import { members, memberSessions, oauthGrants, workspaces, invitations } from "../table.ts";

export type { MemberRow } from "../auth/sessions.ts";

export const MAX_MEMBERS = 1_000;

/** Who a provider says came. */
export interface Person {
  issuer: string;
  subject: string;
  email: string | null;
  /** The provider vouches for the address. */
  verified: boolean;
}

const isMember = (workspaceId: string, id: string) => and(eq(members.workspaceId, workspaceId), eq(members.id, id));

/** The member who is this person. */
export const isPerson = (workspaceId: string, { issuer, subject }: Pick<Person, "issuer" | "subject">) =>
  and(eq(members.workspaceId, workspaceId), eq(members.issuer, issuer), eq(members.subject, subject));

/** A condition: the workspace has room for the person, who is not a member yet. */
export function mayJoin(db: Database, workspaceId: string, person: Pick<Person, "issuer" | "subject">) {
  const joined = db.select({ id: members.id }).from(members).where(isPerson(workspaceId, person));
  return and(fewerThan(members, eq(members.workspaceId, workspaceId), MAX_MEMBERS), notExists(joined));
}

/** Inserts a member. False when the person is one, or the workspace has as many as it may have. */
export async function insertMember(db: Database, row: MemberRow): Promise<boolean> {
  const [inserted] = await db.batch([
    db
      .insert(members)
      .select(rowIf(members, row, mayJoin(db, row.workspaceId, row)))
      .returning({ id: members.id }),
  ]);
  return inserted.length > 0;
}

export async function findMember(db: Database, workspaceId: string, id: string): Promise<MemberRow | undefined> {
  return db.select().from(members).where(isMember(workspaceId, id)).get();
}

export async function findPerson(
  db: Database,
  workspaceId: string,
  person: Pick<Person, "issuer" | "subject">,
): Promise<MemberRow | undefined> {
  return db.select().from(members).where(isPerson(workspaceId, person)).get();
}

/** The workspace's members, oldest first. */
export async function listMembers(db: Database, workspaceId: string, limit: number, offset: number) {
  return db
    .select()
    .from(members)
    .where(eq(members.workspaceId, workspaceId))
    .orderBy(asc(members.createdAt), asc(members.id))
    .limit(limit)
    .offset(offset)
    .all();
}

/** Where the person is a member, the workspace of the last sign-in first. */
export async function listMemberships(db: Database, { issuer, subject }: Pick<Person, "issuer" | "subject">) {
  return db
    .select({ member: members, workspace: { id: workspaces.id, name: workspaces.name } })
    .from(members)
    .innerJoin(workspaces, eq(workspaces.id, members.workspaceId))
    .where(and(eq(members.issuer, issuer), eq(members.subject, subject)))
    .orderBy(desc(members.signedInAt), asc(members.createdAt))
    .all();
}

/** Changes a member's role. Undefined if there is no member with this id. */
export async function updateRole(
  db: Database,
  workspaceId: string,
  id: string,
  role: string,
): Promise<MemberRow | undefined> {
  const changed = await db.update(members).set({ role }).where(isMember(workspaceId, id)).returning().get();
  forgetCredentials();
  return changed;
}

/** Records a sign-in, and the address that the provider now confirms, if it does. */
export async function noteSignIn(db: Database, id: string, email: string | null, now: number): Promise<void> {
  await db
    .update(members)
    .set({ signedInAt: now, ...(email !== null && { email }) })
    .where(eq(members.id, id));
}

const isGrantOfMember = (workspaceId: string, id: string) =>
  and(
    eq(oauthGrants.workspaceId, workspaceId),
    eq(oauthGrants.credentialId, MEMBER + id),
    isNull(oauthGrants.revokedAt),
  );

/** The OAuth grants that the member allowed and that have not been revoked. */
export async function listMemberGrants(db: Database, workspaceId: string, id: string): Promise<GrantRow[]> {
  return db.select().from(oauthGrants).where(isGrantOfMember(workspaceId, id)).all();
}

/** Removes a member, with the sessions, and with what the member allowed, in one transaction. False when there is none. */
export async function removeMember(db: Database, workspaceId: string, id: string, now: number): Promise<boolean> {
  const own = sql`${memberSessions.memberId} IN (SELECT ${members.id} FROM ${members} WHERE ${isMember(workspaceId, id)})`;
  const [, , gone] = await db.batch([
    db.update(oauthGrants).set({ revokedAt: now }).where(isGrantOfMember(workspaceId, id)),
    db.delete(memberSessions).where(own),
    db.delete(members).where(isMember(workspaceId, id)).returning({ id: members.id }),
    ...keyEnds(db, now),
  ]);
  forgetCredentials();
  return gone.length > 0;
}

/** The member if the role is the one that was read. */
export function unchangedMember(db: Database, { workspaceId, id, role }: MemberRow) {
  return db
    .select({ id: members.id })
    .from(members)
    .where(and(isMember(workspaceId, id), eq(members.role, role)));
}

export type InvitationRow = typeof invitations.$inferSelect;

/** The most invitations of a workspace that are listed, with those that were accepted or have expired. */
export const MAX_INVITATIONS = 1_000;
/** Days for which an invitation is listed that was accepted or has expired. */
const LISTED_DAYS = 30;

const isOpenInvitation = (now: number) => and(isNull(invitations.acceptedAt), gt(invitations.expiresAt, now));

/** Inserts an invitation. False when the workspace has as many as it may have. */
export async function insertInvitation(db: Database, row: InvitationRow): Promise<boolean> {
  return insertBelow(db, invitations, row, eq(invitations.workspaceId, row.workspaceId), MAX_INVITATIONS);
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
