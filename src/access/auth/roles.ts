/** Roles: sets of permissions with a name. Four are built in; a workspace makes more. */
import { type Database, database } from "../../db/client.ts";
import {
  ALL_PERMISSIONS,
  type Permission,
  PERMISSIONS,
  may,
  type Principal,
  type Scope,
} from "../../http/principal.ts";
import { findRole } from "./store.ts";
import type { Context } from "hono";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";

const READING = ALL_PERMISSIONS.filter((permission) => PERMISSIONS[permission] === "read");

export const ROLES: Record<string, readonly Permission[]> = {
  viewer: READING,
  annotator: [...READING, "traces.annotate", "datasets.write"],
  developer: ALL_PERMISSIONS.filter((permission) => ["read", "write"].includes(PERMISSIONS[permission])),
  admin: ALL_PERMISSIONS,
};

/** The permissions of a role. Empty for a role that does not exist, so a deleted role allows nothing. */
export async function permissionsOfRole(
  db: Database,
  workspaceId: string,
  name: string,
): Promise<readonly Permission[]> {
  if (Object.hasOwn(ROLES, name)) return ROLES[name] ?? [];
  const row = await findRole(db, workspaceId, name);
  // A later version may have had more permissions.
  return (row?.permissions ?? []).filter((one): one is Permission => Object.hasOwn(PERMISSIONS, one));
}

// The roles that a caller may give: those that exist, and no more than it may do itself.

/** The permissions of a role. @throws Problem 422 when the workspace has none of this name */
export async function requireRole(c: Context<App>, role: string): Promise<readonly Permission[]> {
  const permissions = await permissionsOfRole(database(c.env.DB), c.get("principal").workspaceId, role);
  if (permissions.length > 0) return permissions;
  throw new Problem(422, `Invalid body.role: there is no role ${role} in this workspace.`);
}

/** @throws Problem 403 when the permissions are more than the maker's. `what`: that which would have them. */
export function checkGranted(
  maker: Pick<Principal, "scopes" | "permissions">,
  permissions: readonly Permission[],
  what: string,
): void {
  const more = permissions.filter((permission) => !may(maker, permission));
  if (more.length === 0) return;
  throw new Problem(403, `${what} cannot have permissions that its maker lacks: ${more.join(", ")}.`);
}

/**
 * Members, invitations and roles outlive the access of an application, so an application gives none: what it gave could not be
 * taken back with its access.
 *
 * @throws Problem 403
 */
export function refuseApplications({ grantId }: Pick<Principal, "grantId">): void {
  if (grantId === undefined) return;
  throw new Problem(403, "An application cannot give people access. Use an API key, or sign in.");
}

export function scopesOfPermissions(permissions: readonly Permission[]): Scope[] {
  return [...new Set<Scope>(permissions.map((permission) => PERMISSIONS[permission]))];
}

// Permissions that a handler checks, because the path alone does not say which one a call needs.

/** @throws Problem 403 */
export function requirePermission(principal: Principal, permission: Permission): void {
  if (!may(principal, permission)) throw new Problem(403, `This credential lacks the permission ${permission}.`);
}
