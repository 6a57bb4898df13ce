/** D1: the roles that a workspace has made. */
import { and, asc, eq, isNull, notExists, type SQL } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { insertBelow } from "../db/writes.ts";
import { apiKeys, roles } from "../access/table.ts";
import { invitations, members } from "../db/members.ts";
import { forgetCredentials } from "./credential-cache.ts";

export type RoleRow = typeof roles.$inferSelect;

const MOST_ROLES = 100;
const isRole = (workspaceId: string, name: string) => and(eq(roles.workspaceId, workspaceId), eq(roles.name, name));

/** Which keys and members have the role, and which invitations give it. One that was accepted gives nothing. */
function selectHolders(db: Database, workspaceId: string, name: string) {
  const having = (table: typeof apiKeys | typeof members | typeof invitations, also?: SQL) =>
    db
      .select({ id: table.id })
      .from(table)
      .where(and(eq(table.workspaceId, workspaceId), eq(table.role, name), also));
  return having(apiKeys)
    .unionAll(having(members))
    .unionAll(having(invitations, isNull(invitations.acceptedAt)));
}

export async function findRole(db: Database, workspaceId: string, name: string): Promise<RoleRow | undefined> {
  return db.select().from(roles).where(isRole(workspaceId, name)).get();
}

export async function listRoles(db: Database, workspaceId: string): Promise<RoleRow[]> {
  return db.select().from(roles).where(eq(roles.workspaceId, workspaceId)).orderBy(asc(roles.name)).all();
}

/** Makes or changes a role. False when the workspace has as many as it may have. */
export async function putRole(db: Database, row: RoleRow): Promise<boolean> {
  const { workspaceId, name, permissions, modifiedAt } = row;
  const changed = await db
    .update(roles)
    .set({ permissions, modifiedAt })
    .where(isRole(workspaceId, name))
    .returning({ name: roles.name });
  const held =
    changed.length > 0 || (await insertBelow(db, roles, row, eq(roles.workspaceId, workspaceId), MOST_ROLES));
  forgetCredentials();
  return held;
}

/** Whether a key, a member or an invitation has the role. */
export async function isRoleUsed(db: Database, workspaceId: string, name: string): Promise<boolean> {
  return (await selectHolders(db, workspaceId, name).limit(1)).length > 0;
}

/** Deletes a role that is not used. False when it is, or there is none. */
export async function deleteUnusedRole(db: Database, workspaceId: string, name: string): Promise<boolean> {
  const gone = await db
    .delete(roles)
    .where(and(isRole(workspaceId, name), notExists(selectHolders(db, workspaceId, name))))
    .returning({ name: roles.name });
  forgetCredentials();
  return gone.length > 0;
}
