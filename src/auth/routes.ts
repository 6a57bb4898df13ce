/** Workspaces and API keys: `/api/v1/workspaces`, `/api/v1/api-keys`. */
import { Hono } from "hono";
import { audit } from "../audit/record.ts";
import { database } from "../db/client.ts";
import { documented } from "../http/documented.ts";
import { Problem } from "../http/problem.ts";
import type { App } from "../http/types.ts";
import { body } from "../http/validate.ts";
import { ORGANIZATION_ID } from "./principal.ts";
import { revokeGrantsOf } from "../oauth/store.ts";
import { CreateKey, CreateWorkspace } from "./schema.ts";
import { newSecret, sha256 } from "./secret.ts";
import {
  type ApiKeyRow,
  deleteKey,
  insertKey,
  insertWorkspace,
  listKeys,
  listWorkspaces,
  type WorkspaceRow,
} from "./store.ts";

const doc = documented("Workspaces and keys");
const shown = ({ id, workspaceId, name, hint, scopes, createdAt }: ApiKeyRow) => ({
  id,
  workspace_id: workspaceId,
  name,
  hint,
  scopes,
  created_at: new Date(createdAt).toISOString(),
});

const shownWorkspace = ({ id, name, createdAt }: WorkspaceRow) => ({
  id,
  name,
  display_name: name,
  organization_id: ORGANIZATION_ID,
  created_at: new Date(createdAt).toISOString(),
});

export const auth = new Hono<App>()
  .post("/workspaces", doc("Create a workspace (admin key)"), body(CreateWorkspace), async (c) => {
    const { id = crypto.randomUUID(), name } = c.req.valid("json");
    const db = database(c.env.DB);
    const row = await insertWorkspace(db, { id, name, settings: {}, createdAt: Date.now() });
    if (!row) throw new Problem(409, "A workspace with this id exists.");
    const actor = { kind: "admin", credentialId: "admin" };
    await audit(c, { workspaceId: id, actor, action: "workspace.created", targetId: id, detail: { name } });
    return c.json(shownWorkspace(row), 201);
  })
  .get("/workspaces", doc("List the workspaces that the credential may act in"), async (c) => {
    // The admin key without X-Tenant-Id acts in no single workspace: it sees them all.
    const { workspaceId } = c.get("principal");
    return c.json((await listWorkspaces(database(c.env.DB), workspaceId || undefined)).map(shownWorkspace));
  })
  .post(
    "/api-keys",
    doc("Create an API key; the answer is the only place that shows it"),
    body(CreateKey),
    async (c) => {
      const principal = c.get("principal");
      const { name, scopes = [...principal.scopes] } = c.req.valid("json");
      const { workspaceId } = principal;
      const more = scopes.filter((scope) => !principal.scopes.includes(scope));
      if (more.length > 0) throw new Problem(403, `A key cannot have scopes that its maker lacks: ${more.join(", ")}.`);
      const key = newSecret("weir_");
      const row: ApiKeyRow = {
        id: crypto.randomUUID(),
        workspaceId,
        name,
        hash: sha256(key),
        hint: key.slice(0, 9),
        scopes,
        grantId: principal.grantId ?? null,
        createdAt: Date.now(),
      };
      const db = database(c.env.DB);
      await insertKey(db, row);
      await audit(c, { action: "api_key.created", targetId: row.id, detail: { name, scopes } });
      return c.json({ ...shown(row), key }, 201, { "cache-control": "no-store" });
    },
  )
  .get("/api-keys", doc("List the workspace's API keys"), async (c) =>
    c.json((await listKeys(database(c.env.DB), c.get("principal").workspaceId)).map(shown)),
  )
  .delete("/api-keys/:id", doc("Delete an API key"), async (c) => {
    const { workspaceId } = c.get("principal");
    const db = database(c.env.DB);
    const gone = await deleteKey(db, workspaceId, c.req.param("id"));
    if (!gone) throw new Problem(404, "API key not found.");
    await audit(c, { action: "api_key.deleted", targetId: gone.id, detail: { name: gone.name } });
    // What somebody allowed with this key ends with it.
    for (const grant of await revokeGrantsOf(db, workspaceId, gone.id, Date.now())) {
      await audit(c, { action: "grant.revoked", targetId: grant.id });
    }
    return c.body(null, 204);
  });
