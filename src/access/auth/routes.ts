/** Workspaces and API keys: `/api/v1/workspaces`, `/api/v1/api-keys`. */
import * as v from "valibot";
import { Id, Time } from "../../http/shapes.ts";
import { Hono } from "hono";
import { audit } from "../audit/record.ts";
import { database } from "../../db/client.ts";
import { createDoc } from "../../http/route.ts";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";
import { newOrEarlier } from "../../http/idempotent-id.ts";
import { body } from "../../http/validate.ts";
import { keys } from "./key-routes.ts";
import { roles } from "../../auth/roles-routes.ts";
import { ORGANIZATION_ID } from "../../http/principal.ts";
import { CreateWorkspace } from "./schema.ts";
import { findWorkspace, insertWorkspace, listWorkspaces, type WorkspaceRow } from "./store.ts";

const doc = createDoc("Workspaces and keys");
const Workspace = v.pipe(
  v.object({
    id: v.string(),
    name: v.string(),
    display_name: v.string(),
    organization_id: Id,
    created_at: Time,
  }),
  v.title("Workspace"),
);
const toWireWorkspace = ({ id, name, createdAt }: WorkspaceRow): v.InferOutput<typeof Workspace> => ({
  id,
  name,
  display_name: name,
  organization_id: ORGANIZATION_ID,
  created_at: new Date(createdAt).toISOString(),
});

export const auth = new Hono<App>()
  .post("/workspaces", doc("Create a workspace (admin key)", { 201: Workspace }), body(CreateWorkspace), async (c) => {
    const { id: given, name } = c.req.valid("json");
    const db = database(c.env.DB);
    const { id: made, earlier } = await newOrEarlier(c, async (one) => {
      const found = await findWorkspace(db, given ?? one);
      // An id that the caller chose may be that of a workspace from before the request.
      return found && found.createdAt >= (c.get("idempotency")?.epoch ?? Infinity) ? found : undefined;
    });
    const id = given ?? made;
    const row = earlier ?? (await insertWorkspace(db, { id, name, settings: {}, createdAt: Date.now() }));
    if (!row) throw new Problem(409, "A workspace with this id exists.");
    await audit(c, { workspaceId: id, action: "workspace.created", targetId: id, detail: { name } });
    return c.json(toWireWorkspace(row), 201);
  })
  .get("/workspaces", doc("List the workspaces that the credential may act in", v.array(Workspace)), async (c) => {
    // The admin key without X-Tenant-Id acts in no single workspace: it sees them all.
    const { workspaceId } = c.get("principal");
    return c.json((await listWorkspaces(database(c.env.DB), workspaceId || undefined)).map(toWireWorkspace));
  })
  .route("/api-keys", keys)
  .route("/roles", roles);
