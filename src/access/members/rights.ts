/** What may be given to people, and by whom. */
import type { Context } from "hono";
import { checkGranted, requireRole, refuseApplications, permissionsOfRole } from "../auth/roles.ts";
import { hasExpired, findKey } from "../auth/store.ts";
import type { Database } from "../../db/client.ts";
import type { App } from "../../http/context.ts";
import { may, type Permission, type Principal, type Scope, SCOPES } from "../../http/principal.ts";
import { type InvitationRow, findMember } from "./store.ts";

/**
 * Checks that the caller may give a person this role.
 *
 * @throws Problem 403 when it may not, 422 when the workspace has no such role
 */
export async function checkRoleGiven(c: Context<App>, role: string): Promise<void> {
  const maker = c.get("principal");
  refuseApplications(maker);
  checkGranted(maker, await requireRole(c, role), "A member");
}

/** Whether the maker of an invitation may still give its role: its own rights may have changed, or ended. */
export async function inviterStillHasRole(db: Database, invitation: InvitationRow): Promise<boolean> {
  const { workspaceId, role } = invitation;
  const rights = await rightsOfInviter(db, invitation);
  if (!rights) return false;
  const given = await permissionsOfRole(db, workspaceId, role);
  return given.length > 0 && [...given, "members.manage" as const].every((permission) => may(rights, permission));
}

async function rightsOfInviter(
  db: Database,
  { workspaceId, makerKind, makerId }: InvitationRow,
): Promise<Pick<Principal, "scopes" | "permissions"> | undefined> {
  if (makerKind === "admin" || makerKind === "open") return { scopes: SCOPES };
  if (makerKind === "member") {
    const member = await findMember(db, workspaceId, makerId);
    return member && { scopes: SCOPES, permissions: await permissionsOfRole(db, workspaceId, member.role) };
  }
  const key = await findKey(db, workspaceId, makerId);
  if (!key || hasExpired(key)) return undefined;
  const permissions: readonly Permission[] | undefined =
    key.role === null ? undefined : await permissionsOfRole(db, workspaceId, key.role);
  return { scopes: key.scopes as Scope[], permissions };
}
