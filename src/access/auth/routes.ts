/** Workspaces and API keys: `/api/v1/workspaces`, `/api/v1/api-keys`. */
import { Hono } from "hono";
import * as v from "valibot";
import { audit } from "../audit/record.ts";
import { database } from "../../db/client.ts";
import { createDoc, NOTHING } from "../../http/route.ts";
import { Problem } from "../../lib/problem.ts";
import { type App, newOrEarlier } from "../../http/context.ts";
import { body, param } from "../../http/validate.ts";
import { type Permission, PERMISSIONS, ORGANIZATION_ID } from "../../http/principal.ts";
import { checkGranted, refuseApplications, ROLES } from "./roles.ts";
import {
  deleteUnusedRole,
  findRole,
  isRoleUsed,
  listRoles,
  putRole,
  findWorkspace,
  insertWorkspace,
  listWorkspaces,
  type WorkspaceRow,
} from "./store.ts";
import { RoleName, CreateWorkspace } from "./schema.ts";
import { Id, Time } from "../../http/shapes.ts";
import { keys } from "./key-routes.ts";

// Roles of a workspace: `/api/v1/roles`.

const roleDoc = createDoc("Workspaces and keys");

const RoleParam = v.object({ name: RoleName });
const Role = v.strictObject({
  permissions: v.pipe(
    v.array(v.picklist(Object.keys(PERMISSIONS) as Permission[])),
    v.minLength(1),
    v.transform((all) => [...new Set(all)]),
  ),
});

const ShownRole = v.object({ name: v.string(), permissions: v.array(v.string()), built_in: v.boolean() });

const notBuiltIn = (name: string) => {
  if (Object.hasOwn(ROLES, name)) throw new Problem(409, `The role ${name} is built in. Choose another name.`);
};

export const roles = new Hono<App>()
  .get(
    "/",
    roleDoc("List the roles and their permissions: the built-in ones, and the workspace's own", v.array(ShownRole)),
    async (c) => {
      const own = await listRoles(database(c.env.DB), c.get("principal").workspaceId);
      const builtIn = Object.entries(ROLES).map(([name, permissions]) => ({ name, permissions, built_in: true }));
      return c.json([...builtIn, ...own.map(({ name, permissions }) => ({ name, permissions, built_in: false }))]);
    },
  )
  .put(
    "/:name",
    roleDoc("Make or change a role of the workspace", ShownRole),
    param(RoleParam),
    body(Role),
    async (c) => {
      const { name } = c.req.valid("param");
      const { permissions } = c.req.valid("json");
      notBuiltIn(name);
      const maker = c.get("principal");
      refuseApplications(maker);
      checkGranted(maker, permissions, "A role");
      const row = { workspaceId: maker.workspaceId, name, permissions, modifiedAt: Date.now() };
      if (!(await putRole(database(c.env.DB), row)))
        throw new Problem(409, "A workspace has at most 100 roles. Delete one first.");
      await audit(c, { action: "role.updated", targetId: name, detail: { permissions } });
      return c.json({ name, permissions, built_in: false });
    },
  )
  .delete(
    "/:name",
    roleDoc("Delete a role that no API key, member or invitation has", NOTHING),
    param(RoleParam),
    async (c) => {
      const { name } = c.req.valid("param");
      notBuiltIn(name);
      const { workspaceId } = c.get("principal");
      const db = database(c.env.DB);
      const inUse = () => new Problem(409, "An API key, a member or an invitation has this role. Change that first.");
      if (!(await findRole(db, workspaceId, name))) throw new Problem(404, "Role not found.");
      if (await isRoleUsed(db, workspaceId, name)) throw inUse();
      await audit(c, { action: "role.deleted", targetId: name });
      if (!(await deleteUnusedRole(db, workspaceId, name))) throw inUse();
      return c.body(null, 204);
    },
  );

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
