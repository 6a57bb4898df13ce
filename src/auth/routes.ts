/** Workspaces and API keys: `/api/v1/workspaces`, `/api/v1/api-keys`. */
import { Hono } from "hono";
import { audit } from "../audit/record.ts";
import { database } from "../db/client.ts";
import { documented } from "../http/documented.ts";
import { Problem } from "../http/problem.ts";
import type { App } from "../http/types.ts";
import { body } from "../http/validate.ts";
import { keys } from "./keys-routes.ts";
import { roles } from "./roles-routes.ts";
import { ORGANIZATION_ID } from "../principal.ts";
import { CreateWorkspace } from "./schema.ts";
import { insertWorkspace, listWorkspaces, type WorkspaceRow } from "./store.ts";

const doc = documented("Workspaces and keys");
const toWireWorkspace = ({ id, name, createdAt }: WorkspaceRow) => ({
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
    return c.json(toWireWorkspace(row), 201);
  })
  .get("/workspaces", doc("List the workspaces that the credential may act in"), async (c) => {
    // The admin key without X-Tenant-Id acts in no single workspace: it sees them all.
    const { workspaceId } = c.get("principal");
    return c.json((await listWorkspaces(database(c.env.DB), workspaceId || undefined)).map(toWireWorkspace));
  })
  .route("/api-keys", keys)
  .route("/roles", roles);
