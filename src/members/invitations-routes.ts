/** Invitations by link: `/api/v1/invitations`. */
import * as v from "valibot";
import { Hono } from "hono";
import { audit } from "../access/audit/record.ts";
import { newSecret, sha256 } from "../lib/crypto.ts";
import { database } from "../db/client.ts";
import { createDoc, NOTHING } from "../http/route.ts";
import { newSecretId } from "../http/idempotent-id.ts";
import { serverAddress, isKnownOrigin } from "../http/context.ts";
import { cutPage } from "../http/shapes.ts";
import { Problem } from "../lib/problem.ts";
import type { App } from "../http/context.ts";
import { body, param, query } from "../http/validate.ts";
import {
  deleteInvitation,
  findInvitation,
  insertInvitation,
  listInvitations,
  MOST_INVITATIONS,
} from "./invitation-store.ts";
import { requireIssuer } from "./person.ts";
import { checkRoleGiven } from "../access/members/rights.ts";
import { Invite, MemberParam, Paging } from "../access/members/schema.ts";
import { Invitation, NewInvitation, toWireInvitation } from "../access/members/row.ts";

const doc = createDoc("Members");
const notFound = () => new Problem(404, "Invitation not found, or accepted.");

export const invitations = new Hono<App>()
  .post(
    "/",
    doc("Invite a person by a link; the answer is the only place that shows it", { 201: NewInvitation }),
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
        throw new Problem(409, `A workspace has at most ${MOST_INVITATIONS} invitations. Delete one first.`);
      await audit(c, { action: "invitation.created", targetId: id, detail: { role, email } });
      const url = `${serverAddress(c)}/oauth/openid/invitation?token=${secret}`;
      return c.json({ ...toWireInvitation(row), url }, 201, { "cache-control": "no-store" });
    },
  )
  .get(
    "/",
    doc("List the workspace's invitations, also those of the last 30 days", v.array(Invitation)),
    query(Paging),
    async (c) => {
      const { limit, offset } = c.req.valid("query");
      const rows = await listInvitations(database(c.env.DB), c.get("principal").workspaceId, limit + 1, offset);
      const { items, headers } = cutPage(rows, limit, offset);
      return c.json(items.map(toWireInvitation), 200, headers);
    },
  )
  .delete("/:id", doc("Take an invitation back", NOTHING), param(MemberParam), async (c) => {
    const { workspaceId } = c.get("principal");
    const db = database(c.env.DB);
    const invitation = await findInvitation(db, workspaceId, c.req.valid("param").id);
    if (!invitation || invitation.acceptedAt !== null) throw notFound();
    await audit(c, { action: "invitation.deleted", targetId: invitation.id, detail: { role: invitation.role } });
    if (!(await deleteInvitation(db, workspaceId, invitation.id))) throw notFound();
    return c.body(null, 204);
  });
