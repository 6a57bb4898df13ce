/** The people of a workspace: `/api/v1/members`. */
import * as v from "valibot";
import { Hono } from "hono";
import { audit } from "../audit/record.ts";
import { endSession, listSessions } from "../auth/sessions.ts";
import { database } from "../../db/client.ts";
import { createDoc, NOTHING } from "../../http/route.ts";
import { newOrEarlier } from "../../http/idempotent-id.ts";
import { cutPage } from "../../http/shapes.ts";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";
import { body, param, query } from "../../http/validate.ts";
import { requireIssuer } from "../../members/person.ts";
import { checkRoleGiven } from "./rights.ts";
import { AddMember, ChangeMember, MemberParam, Paging, SessionParam } from "./schema.ts";
import {
  findMember,
  findPerson,
  insertMember,
  listMemberGrants,
  listMembers,
  MOST_MEMBERS,
  removeMember,
  updateRole,
} from "./store.ts";
import { Member, Session, toWireMember, toWireSession } from "./row.ts";

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
        throw new Problem(409, `A workspace has at most ${MOST_MEMBERS} members. Remove one first.`);
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
