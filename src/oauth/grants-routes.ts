/** What people allowed: `/api/v1/grants`, to see and take back. */
import { Time } from "../http/shapes.ts";
import { Hono } from "hono";
import * as v from "valibot";
import { audit } from "../access/audit/record.ts";
import { database } from "../db/client.ts";
import { createDoc, NOTHING } from "../http/route.ts";
import { pagingQuery } from "../http/shapes.ts";
import { cutPage } from "../http/shapes.ts";
import { Problem } from "../lib/problem.ts";
import type { App } from "../http/context.ts";
import { query } from "../http/validate.ts";
import { findGrant, listGrants, revokeGrant } from "../access/oauth/store.ts";

const doc = createDoc("OAuth");

const Grant = v.pipe(
  v.object({
    id: v.string(),
    client_id: v.string(),
    client_name: v.nullable(v.string()),
    scopes: v.array(v.string()),
    resource: v.nullable(v.string()),
    granted_by: v.nullable(v.string()),
    created_at: Time,
  }),
  v.title("Grant"),
);

export const grants = new Hono<App>()
  .get(
    "/grants",
    doc("Applications that people gave access to this workspace", v.array(Grant)),
    query(v.object(pagingQuery(1000))),
    async (c) => {
      const { limit, offset } = c.req.valid("query");
      const rows = await listGrants(database(c.env.DB), c.get("principal").workspaceId, limit + 1, offset);
      const { items, headers } = cutPage(rows, limit, offset);
      const shown = items.map(({ grant, client }) => ({
        id: grant.id,
        client_id: grant.clientId,
        client_name: client?.name ?? null,
        scopes: grant.scopes,
        resource: grant.resource,
        granted_by: grant.credentialId,
        created_at: new Date(grant.createdAt).toISOString(),
      }));
      return c.json(shown, 200, headers);
    },
  )
  .delete("/grants/:id", doc("Take access back: every token of the grant ends at once", NOTHING), async (c) => {
    const { workspaceId } = c.get("principal");
    const db = database(c.env.DB);
    const grant = await findGrant(db, workspaceId, c.req.param("id"));
    if (!grant || grant.revokedAt !== null) throw new Problem(404, "Grant not found.");
    await audit(c, { action: "grant.revoked", targetId: grant.id });
    await revokeGrant(db, grant.id, Date.now());
    return c.body(null, 204);
  });
