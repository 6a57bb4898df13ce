/** What the caller is and may do: `/api/v1/me`. */
import * as v from "valibot";
import { type Context, Hono } from "hono";
import { audit } from "../access/audit/record.ts";
import { nameCaller } from "../http/context.ts";
import { endSession, findSession, listSessions } from "../access/auth/sessions.ts";
import { findWorkspace } from "../access/auth/store.ts";
import { database } from "../db/client.ts";
import { createDoc, NOTHING } from "../http/route.ts";
import { Problem } from "../lib/problem.ts";
import type { App } from "../http/context.ts";
import { param } from "../http/validate.ts";
import { ALL_PERMISSIONS, may } from "../http/principal.ts";
import { OwnSessionParam } from "../access/members/schema.ts";
import { findMember, listMemberships } from "../access/members/store.ts";
import { Self, Session, toWireMember, toWireSession } from "../access/members/row.ts";

const doc = createDoc("Members");

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
  .get("/", doc("The caller: the workspace, the role and the permissions", Me), async (c) => {
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
  .get("/sessions", doc("List the browsers in which the caller is signed in", v.array(Session)), async (c) => {
    const own = await ownSession(c);
    if (!own) return c.json([]);
    const rows = await listSessions(database(c.env.DB), own.member.id, Date.now());
    return c.json(rows.map((row) => toWireSession(row, row.id === own.session.id)));
  })
  .delete(
    "/sessions/:session_id",
    doc("Sign one of the caller's browsers out", NOTHING),
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
