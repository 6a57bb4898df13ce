/** Roles: sets of permissions with a name. Four are built in; a workspace makes more. */
import type { Database } from "../../db/client.ts";
import { ALL_PERMISSIONS, type Permission, PERMISSIONS } from "../../http/principal.ts";
import { findRole } from "../../auth/roles-store.ts";

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
