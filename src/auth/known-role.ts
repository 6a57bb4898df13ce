/** The roles that a caller may give: those that exist, and no more than it may do itself. */
import type { Context } from "hono";
import { database } from "../db/client.ts";
import { Problem } from "../lib/problem.ts";
import type { App } from "../http/context.ts";
import { may, type Permission, PERMISSIONS, type Principal, type Scope } from "../http/principal.ts";
import { permissionsOfRole } from "../access/auth/roles.ts";

/** The permissions of a role. @throws Problem 422 when the workspace has none of this name */
export async function requireRole(c: Context<App>, role: string): Promise<readonly Permission[]> {
  const permissions = await permissionsOfRole(database(c.env.DB), c.get("principal").workspaceId, role);
  if (permissions.length > 0) return permissions;
  throw new Problem(422, `Invalid body.role: there is no role ${role} in this workspace.`);
}

/** @throws Problem 403 when the permissions are more than the maker's. `what`: that which would have them. */
export function checkGiven(
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
