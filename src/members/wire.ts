/** Members, invitations and sessions as answers have them. */
import { endOfSession, type SessionRow } from "../auth/session-store.ts";
import type { InvitationRow } from "./invitation-store.ts";
import type { MemberRow } from "./store.ts";

const timeOf = (time: number | null) => (time === null ? null : new Date(time).toISOString());

export const toWireMember = (row: MemberRow) => ({
  id: row.id,
  workspace_id: row.workspaceId,
  issuer: row.issuer,
  subject: row.subject,
  email: row.email,
  role: row.role,
  created_at: timeOf(row.createdAt),
  signed_in_at: timeOf(row.signedInAt),
});

export const toWireInvitation = (row: InvitationRow) => ({
  id: row.id,
  workspace_id: row.workspaceId,
  role: row.role,
  email: row.email,
  made_by: row.makerId,
  created_at: timeOf(row.createdAt),
  expires_at: timeOf(row.expiresAt),
  accepted_at: timeOf(row.acceptedAt),
  member_id: row.memberId,
});

export const toWireSession = (row: SessionRow, current = false) => ({
  id: row.id,
  created_at: timeOf(row.createdAt),
  last_used_at: timeOf(row.lastUsedAt),
  expires_at: timeOf(endOfSession(row)),
  address: row.address,
  user_agent: row.userAgent,
  current,
});
