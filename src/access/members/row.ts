/** Members, invitations and sessions as answers have them. */
import * as v from "valibot";
import { Id, Time } from "../../http/shapes.ts";
import { endOfSession, type SessionRow } from "../auth/sessions.ts";
import type { InvitationRow, MemberRow } from "./store.ts";

const toIso = (time: number | null) => (time === null ? null : new Date(time).toISOString());

const text = v.nullable(v.string());
const time = v.nullable(Time);

const member = {
  id: Id,
  workspace_id: v.string(),
  issuer: v.string(),
  subject: v.string(),
  email: text,
  role: v.string(),
  created_at: time,
  signed_in_at: time,
};
export const Member = v.pipe(v.object(member), v.title("Member"));
/** The calling member, with the workspaces that it has access to. */
export const Self = v.object({ ...member, workspaces: v.array(v.object({ id: v.string(), name: v.string() })) });

const invitation = {
  id: Id,
  workspace_id: v.string(),
  role: v.string(),
  email: text,
  made_by: v.string(),
  created_at: time,
  expires_at: time,
  accepted_at: time,
  member_id: text,
};
export const Invitation = v.pipe(v.object(invitation), v.title("Invitation"));
/** The link is shown once. */
export const NewInvitation = v.object({ ...invitation, url: v.string() });

export const Session = v.pipe(
  v.object({
    id: v.string(),
    created_at: time,
    last_used_at: time,
    expires_at: time,
    address: text,
    user_agent: text,
    current: v.boolean(),
  }),
  v.title("Session"),
);

export const toWireMember = (row: MemberRow): v.InferOutput<typeof Member> => ({
  id: row.id,
  workspace_id: row.workspaceId,
  issuer: row.issuer,
  subject: row.subject,
  email: row.email,
  role: row.role,
  created_at: toIso(row.createdAt),
  signed_in_at: toIso(row.signedInAt),
});

export const toWireInvitation = (row: InvitationRow): v.InferOutput<typeof Invitation> => ({
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

export const toWireSession = (row: SessionRow, current = false): v.InferOutput<typeof Session> => ({
  id: row.id,
  created_at: toIso(row.createdAt),
  last_used_at: toIso(row.lastUsedAt),
  expires_at: toIso(endOfSession(row)),
  address: row.address,
  user_agent: row.userAgent,
  current,
});
