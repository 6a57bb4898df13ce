/** The OAuth clients that have access to a workspace: `/api/v1/oauth-clients`. */
import { pagingQuery, cutPage } from "../../http/shapes.ts";
import { Hono } from "hono";
import * as v from "valibot";
import { audit } from "../audit/record.ts";
import { database } from "../../db/client.ts";
import { createDoc, NOTHING } from "../../http/route.ts";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";
import { param, query } from "../../http/validate.ts";
import { isDocumentId } from "./register.ts";
import {
  type AllowedClient,
  listClients,
  listGrantIds,
  revokeClient,
  findGrant,
  listGrants,
  revokeGrant,
} from "./store.ts";
import { OAuthClient, Grant } from "./wire.ts";

const doc = createDoc("OAuth");

const iso = (time: number) => new Date(time).toISOString();

const toWire = ({ client, grants, scopes, lastGrantedAt }: AllowedClient): v.InferOutput<typeof OAuthClient> => ({
  client_id: client.id,
  client_name: client.name,
  client_uri: client.clientUri,
  redirect_uris: client.redirectUris,
  grant_types: client.grantTypes,
  /** `document`: the id is the URL of a client ID metadata document. */
  registered_by: isDocumentId(client.id) ? "document" : "registration",
  created_at: iso(client.createdAt),
  grants,
  scopes,
  last_granted_at: iso(lastGrantedAt),
});

export const oauthClients = new Hono<App>()
  .get(
    "/oauth-clients",
    doc("Applications that have access to this workspace, each with how many grants it has", v.array(OAuthClient)),
    query(v.object(pagingQuery(1000))),
    async (c) => {
      const { limit, offset } = c.req.valid("query");
      const rows = await listClients(database(c.env.DB), c.get("principal").workspaceId, {
        limit: limit + 1,
        offset,
        now: Date.now(),
      });
      const { items, headers } = cutPage(rows, limit, offset);
      return c.json(items.map(toWire), 200, headers);
    },
  )
  .delete(
    "/oauth-clients/:client_id",
    doc("Take an application's access back: every grant that it has in this workspace ends", NOTHING),
    param(v.object({ client_id: v.string() })),
    async (c) => {
      const { workspaceId } = c.get("principal");
      const clientId = c.req.valid("param").client_id;
      const db = database(c.env.DB);
      const now = Date.now();
      const found = await listGrantIds(db, workspaceId, clientId, now);
      if (found.length === 0) throw new Problem(404, "No application with this client_id has access.");
      const note = async (ids: string[]) => {
        for (const id of ids)
          await audit(c, { action: "grant.revoked", targetId: id, detail: { client_id: clientId } });
      };
      await note(found);
      const ended = await revokeClient(db, workspaceId, clientId, now);
      await note(ended.filter((id) => !found.includes(id)));
      return c.body(null, 204);
    },
  );

// What people allowed: `/api/v1/grants`, to see and take back.

const grantDoc = createDoc("OAuth");

export const grants = new Hono<App>()
  .get(
    "/grants",
    grantDoc("Applications that people gave access to this workspace", v.array(Grant)),
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
  .delete("/grants/:id", grantDoc("Take access back: every token of the grant ends at once", NOTHING), async (c) => {
    const { workspaceId } = c.get("principal");
    const db = database(c.env.DB);
    const grant = await findGrant(db, workspaceId, c.req.param("id"));
    if (!grant || grant.revokedAt !== null) throw new Problem(404, "Grant not found.");
    await audit(c, { action: "grant.revoked", targetId: grant.id });
    await revokeGrant(db, grant.id, Date.now());
    return c.body(null, 204);
  });
