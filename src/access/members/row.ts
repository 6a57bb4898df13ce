/** Members, invitations and sessions as answers have them. */
import { endOfSession, type SessionRow } from "../auth/sessions.ts";
import type { InvitationRow, MemberRow } from "./store.ts";
import type { Invitation, Member, Session } from "./wire.ts";

export { Member, Self, Invitation, NewInvitation, Session } from "./wire.ts";

const toIso = (time: number | null) => (time === null ? null : new Date(time).toISOString());

export const toWireMember = (row: MemberRow): Member => ({
  id: row.id,
  workspace_id: row.workspaceId,
  issuer: row.issuer,
  subject: row.subject,
  email: row.email,
  role: row.role,
  created_at: toIso(row.createdAt),
  signed_in_at: toIso(row.signedInAt),
});

export const toWireInvitation = (row: InvitationRow): Invitation => ({
  id: row.id,
  workspace_id: row.workspaceId,
  role: row.role,
  email: row.email,
  made_by: row.makerId,
  created_at: toIso(row.createdAt),
  expires_at: toIso(row.expiresAt),
  accepted_at: toIso(row.acceptedAt),
  member_id: row.memberId,
});

export const toWireSession = (row: SessionRow, current = false): Session => ({
  id: row.id,
  created_at: toIso(row.createdAt),
  last_used_at: toIso(row.lastUsedAt),
  expires_at: toIso(endOfSession(row)),
  address: row.address,
  user_agent: row.userAgent,
  current,
});
