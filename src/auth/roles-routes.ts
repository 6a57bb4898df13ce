/** Roles of a workspace: `/api/v1/roles`. */
import { Hono } from "hono";
import * as v from "valibot";
import { audit } from "../access/audit/record.ts";
import { database } from "../db/client.ts";
import { createDoc, NOTHING } from "../http/route.ts";
import { Problem } from "../lib/problem.ts";
import type { App } from "../http/context.ts";
import { body, param } from "../http/validate.ts";
import { type Permission, PERMISSIONS } from "../http/principal.ts";
import { checkGiven, refuseApplications } from "./known-role.ts";
import { ROLES } from "../access/auth/roles.ts";
import { deleteUnusedRole, findRole, isRoleUsed, listRoles, putRole } from "./roles-store.ts";
import { RoleName } from "../access/auth/schema.ts";

const doc = createDoc("Workspaces and keys");

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
    doc("List the roles and their permissions: the built-in ones, and the workspace's own", v.array(ShownRole)),
    async (c) => {
      const own = await listRoles(database(c.env.DB), c.get("principal").workspaceId);
      const builtIn = Object.entries(ROLES).map(([name, permissions]) => ({ name, permissions, built_in: true }));
      return c.json([...builtIn, ...own.map(({ name, permissions }) => ({ name, permissions, built_in: false }))]);
    },
  )
  .put("/:name", doc("Make or change a role of the workspace", ShownRole), param(RoleParam), body(Role), async (c) => {
    const { name } = c.req.valid("param");
    const { permissions } = c.req.valid("json");
    notBuiltIn(name);
    const maker = c.get("principal");
    refuseApplications(maker);
    checkGiven(maker, permissions, "A role");
    const row = { workspaceId: maker.workspaceId, name, permissions, modifiedAt: Date.now() };
    if (!(await putRole(database(c.env.DB), row)))
      throw new Problem(409, "A workspace has at most 100 roles. Delete one first.");
    await audit(c, { action: "role.updated", targetId: name, detail: { permissions } });
    return c.json({ name, permissions, built_in: false });
  })
  .delete(
    "/:name",
    doc("Delete a role that no API key, member or invitation has", NOTHING),
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
