/** Members, invitations and sessions on the wire. The page reads these types: this file imports no part of the server but shapes. */
import * as v from "valibot";
import { Id, Time } from "../../http/shapes.ts";

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
export type Member = v.InferOutput<typeof Member>;

/** The calling member, with the workspaces that it has access to. */
export const Self = v.object({ ...member, workspaces: v.array(v.object({ id: v.string(), name: v.string() })) });
export type Self = v.InferOutput<typeof Self>;

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
export type Invitation = v.InferOutput<typeof Invitation>;

/** The link is shown once. */
export const NewInvitation = v.object({ ...invitation, url: v.string() });
export type NewInvitation = v.InferOutput<typeof NewInvitation>;

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
export type Session = v.InferOutput<typeof Session>;
