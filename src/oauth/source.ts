/** What a person signed in with: an API key, a membership, or neither. A grant has no more rights, and ends with it. */
import { exists, type SQL, sql } from "drizzle-orm";
import { scopesOfPermissions } from "../auth/known-role.ts";
import { permissionsOfRole } from "../access/auth/roles.ts";
import { findKey, hasExpired, MEMBER, unchangedKey } from "../access/auth/store.ts";
import type { Database } from "../db/client.ts";
import { findMember, unchangedMember } from "../access/members/store.ts";
import type { SignInRow } from "../access/oauth/store.ts";

export interface Source {
  scopes: readonly string[];
  /** The networks from which it works. None: from anywhere. */
  networks: string[];
  /** Milliseconds since 1970. Null: never. */
  expiresAt: number | null;
  /** A condition: it is as it was read. */
  unchanged: SQL;
}

export async function readSource(db: Database, person: SignInRow): Promise<Source | "ended"> {
  const { workspaceId, credentialId, scopes } = person;
  if (credentialId === "open" || credentialId.startsWith("openid:"))
    return { scopes, networks: [], expiresAt: null, unchanged: sql`true` };
  if (credentialId.startsWith(MEMBER)) {
    const member = await findMember(db, workspaceId, credentialId.slice(MEMBER.length));
    if (!member) return "ended";
    const permissions = await permissionsOfRole(db, workspaceId, member.role);
    const unchanged = exists(unchangedMember(db, member));
    return { scopes: scopesOfPermissions(permissions), networks: [], expiresAt: null, unchanged };
  }
  const key = await findKey(db, workspaceId, credentialId);
  if (!key || hasExpired(key)) return "ended";
  const unchanged = exists(unchangedKey(db, key));
  return { scopes: key.scopes, networks: key.allowedIps ?? [], expiresAt: key.expiresAt, unchanged };
}
