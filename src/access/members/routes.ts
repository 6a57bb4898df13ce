/** The people of a workspace: `/api/v1/members`. */
import { endOfSession, type SessionRow, endSession, listSessions, findSession } from "../auth/sessions.ts";
import {
  type InvitationRow,
  type MemberRow,
  findMember,
  findPerson,
  insertMember,
  listMemberGrants,
  listMembers,
  MAX_MEMBERS,
  removeMember,
  updateRole,
  deleteInvitation,
  findInvitation,
  insertInvitation,
  listInvitations,
  MAX_INVITATIONS,
  listMemberships,
} from "./store.ts";
import { Invitation, Member, NewInvitation, Self, Session } from "./wire.ts";
import * as v from "valibot";
import { Hono, type Context } from "hono";
import { audit } from "../audit/record.ts";
import { database } from "../../db/client.ts";
import { createDoc, NOTHING } from "../../http/route.ts";
import { newOrEarlier, newSecretId, type App, serverAddress, isKnownOrigin, nameCaller } from "../../http/context.ts";
import { cutPage } from "../../http/shapes.ts";
import { Problem } from "../../lib/problem.ts";
import { body, param, query } from "../../http/validate.ts";
import {
  requireIssuer,
  AddMember,
  ChangeMember,
  MemberParam,
  Paging,
  SessionParam,
  Invite,
  OwnSessionParam,
} from "./schema.ts";
import { checkRoleGiven } from "./rights.ts";
import { newSecret, sha256 } from "../../lib/crypto.ts";
import { findWorkspace } from "../auth/store.ts";
import { ALL_PERMISSIONS, may } from "../../http/principal.ts";

// Members, invitations and sessions as answers have them.

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

const doc = createDoc("Members");
const notFound = () => new Problem(404, "Member not found.");

export const members = new Hono<App>()
  .post(
    "/",
    doc("Make a person a member, by the subject that the OpenID provider has", { 201: Member }),
    body(AddMember),
    async (c) => {
      const { subject, email, role } = c.req.valid("json");
      const issuer = requireIssuer(c.env);
      await checkRoleGiven(c, role);
      const { workspaceId } = c.get("principal");
      const db = database(c.env.DB);
      const { id, earlier } = await newOrEarlier(c, (one) => findMember(db, workspaceId, one));
      const row = { id, workspaceId, issuer, subject, email, role, createdAt: Date.now(), signedInAt: null };
      if (!earlier && !(await insertMember(db, row))) {
        if (await findPerson(db, workspaceId, row)) throw new Problem(409, "This person is a member.");
        throw new Problem(409, `A workspace has at most ${MAX_MEMBERS} members. Remove one first.`);
      }
      await audit(c, { action: "member.added", targetId: id, detail: { issuer, subject, email, role } });
      return c.json(toWireMember(earlier ?? row), 201);
    },
  )
  .get("/", doc("List the workspace's members", v.array(Member)), query(Paging), async (c) => {
    const { limit, offset } = c.req.valid("query");
    const rows = await listMembers(database(c.env.DB), c.get("principal").workspaceId, limit + 1, offset);
    const { items, headers } = cutPage(rows, limit, offset);
    return c.json(items.map(toWireMember), 200, headers);
  })
  .patch("/:id", doc("Change a member's role", Member), param(MemberParam), body(ChangeMember), async (c) => {
    const { role } = c.req.valid("json");
    await checkRoleGiven(c, role);
    const changed = await updateRole(database(c.env.DB), c.get("principal").workspaceId, c.req.valid("param").id, role);
    if (!changed) throw notFound();
    await audit(c, { action: "member.updated", targetId: changed.id, detail: { role } });
    return c.json(toWireMember(changed));
  })
  .delete(
    "/:id",
    doc("Remove a member: the sessions end, and so does what the member allowed to applications", NOTHING),
    param(MemberParam),
    async (c) => {
      const { workspaceId } = c.get("principal");
      const db = database(c.env.DB);
      const member = await findMember(db, workspaceId, c.req.valid("param").id);
      if (!member) throw notFound();
      const { id, subject, email, role } = member;
      const grants = await listMemberGrants(db, workspaceId, id);
      await audit(c, { action: "member.removed", targetId: id, detail: { subject, email, role } });
      for (const grant of grants) await audit(c, { action: "grant.revoked", targetId: grant.id });
      if (!(await removeMember(db, workspaceId, id, Date.now()))) throw notFound();
      return c.body(null, 204);
    },
  )
  .get(
    "/:id/sessions",
    doc("List the browsers in which a member is signed in", v.array(Session)),
    param(MemberParam),
    async (c) => {
      const db = database(c.env.DB);
      const member = await findMember(db, c.get("principal").workspaceId, c.req.valid("param").id);
      if (!member) throw notFound();
      return c.json((await listSessions(db, member.id, Date.now())).map((row) => toWireSession(row)));
    },
  )
  .delete("/:id/sessions/:session_id", doc("Sign a member's browser out", NOTHING), param(SessionParam), async (c) => {
    const db = database(c.env.DB);
    const { id, session_id } = c.req.valid("param");
    const member = await findMember(db, c.get("principal").workspaceId, id);
    if (!member || !(await endSession(db, member.id, session_id))) throw new Problem(404, "Session not found.");
    await audit(c, { action: "session.ended", targetId: session_id, detail: { member: id } });
    return c.body(null, 204);
  });

// Invitations by link: `/api/v1/invitations`.

const invitationDoc = createDoc("Members");
const invitationNotFound = () => new Problem(404, "Invitation not found, or accepted.");

export const invitations = new Hono<App>()
  .post(
    "/",
    invitationDoc("Invite a person by a link; the answer is the only place that shows it", { 201: NewInvitation }),
    body(Invite),
    async (c) => {
      const maker = c.get("principal");
      const { role, email, expires_in_seconds } = c.req.valid("json");
      requireIssuer(c.env);
      // The link would lead where the caller's Host header says.
      if (!isKnownOrigin(c)) throw new Problem(409, "The server does not know its address. Set PUBLIC_URL.");
      await checkRoleGiven(c, role);
      const { workspaceId } = maker;
      const db = database(c.env.DB);
      const id = await newSecretId(c, (one) => findInvitation(db, workspaceId, one));
      const secret = newSecret("weir_inv_");
      const now = Date.now();
      const row = {
        id,
        workspaceId,
        hash: sha256(secret),
        role,
        email,
        makerKind: maker.kind,
        makerId: maker.credentialId,
        createdAt: now,
        expiresAt: now + expires_in_seconds * 1000,
        acceptedAt: null,
        memberId: null,
      };
      if (!(await insertInvitation(db, row)))
        throw new Problem(409, `A workspace has at most ${MAX_INVITATIONS} invitations. Delete one first.`);
      await audit(c, { action: "invitation.created", targetId: id, detail: { role, email } });
      const url = `${serverAddress(c)}/oauth/openid/invitation?token=${secret}`;
      return c.json({ ...toWireInvitation(row), url }, 201, { "cache-control": "no-store" });
    },
  )
  .get(
    "/",
    invitationDoc("List the workspace's invitations, also those of the last 30 days", v.array(Invitation)),
    query(Paging),
    async (c) => {
      const { limit, offset } = c.req.valid("query");
      const rows = await listInvitations(database(c.env.DB), c.get("principal").workspaceId, limit + 1, offset);
      const { items, headers } = cutPage(rows, limit, offset);
      return c.json(items.map(toWireInvitation), 200, headers);
    },
  )
  .delete("/:id", invitationDoc("Take an invitation back", NOTHING), param(MemberParam), async (c) => {
    const { workspaceId } = c.get("principal");
    const db = database(c.env.DB);
    const invitation = await findInvitation(db, workspaceId, c.req.valid("param").id);
    if (!invitation || invitation.acceptedAt !== null) throw invitationNotFound();
    await audit(c, { action: "invitation.deleted", targetId: invitation.id, detail: { role: invitation.role } });
    if (!(await deleteInvitation(db, workspaceId, invitation.id))) throw invitationNotFound();
    return c.body(null, 204);
  });

// What the caller is and may do: `/api/v1/me`.

const meDoc = createDoc("Members");

const Me = v.object({
  /** The user of the deployment's own `Auth`, else the credential: the name of the caller among reviewers of a queue. */
  id: v.string(),
  kind: v.string(),
  workspace: v.object({ id: v.string(), name: v.nullable(v.string()) }),
  role: v.nullable(v.string()),
  scopes: v.array(v.string()),
  permissions: v.array(v.string()),
  member: v.nullable(Self),
});

/** The session of this request, and its member. */
async function ownSession(c: Context<App>) {
  const { kind, hash } = c.get("principal");
  return kind === "member" && hash !== undefined ? findSession(database(c.env.DB), hash, Date.now()) : undefined;
}

export const me = new Hono<App>()
  .get("/", meDoc("The caller: the workspace, the role and the permissions", Me), async (c) => {
    const principal = c.get("principal");
    const { workspaceId, kind, credentialId, role, scopes } = principal;
    const db = database(c.env.DB);
    const [workspace, member] = await Promise.all([
      findWorkspace(db, workspaceId),
      kind === "member" ? findMember(db, workspaceId, credentialId) : undefined,
    ]);
    const workspaces = member ? (await listMemberships(db, member)).map((one) => one.workspace) : [];
    return c.json({
      id: nameCaller(c),
      kind,
      workspace: { id: workspaceId, name: workspace?.name ?? null },
      role: role ?? null,
      scopes,
      permissions: ALL_PERMISSIONS.filter((permission) => may(principal, permission)),
      member: member ? { ...toWireMember(member), workspaces } : null,
    });
  })
  .get("/sessions", meDoc("List the browsers in which the caller is signed in", v.array(Session)), async (c) => {
    const own = await ownSession(c);
    if (!own) return c.json([]);
    const rows = await listSessions(database(c.env.DB), own.member.id, Date.now());
    return c.json(rows.map((row) => toWireSession(row, row.id === own.session.id)));
  })
  .delete(
    "/sessions/:session_id",
    meDoc("Sign one of the caller's browsers out", NOTHING),
    param(OwnSessionParam),
    async (c) => {
      const { session_id } = c.req.valid("param");
      const own = await ownSession(c);
      if (!own || !(await endSession(database(c.env.DB), own.member.id, session_id)))
        throw new Problem(404, "Session not found.");
      await audit(c, { action: "session.ended", targetId: session_id });
      return c.body(null, 204);
    },
  );

// People: `/api/v1/members`, `/api/v1/invitations`, `/api/v1/me`.

export const people = new Hono<App>().route("/members", members).route("/invitations", invitations).route("/me", me);
