/** The current state of credentials: of a new request, and of an open stream or socket. */
import { database } from "../../db/client.ts";
import { logError } from "../../lib/log.ts";
import { toProblem } from "../../lib/problem.ts";
import { resolveUser } from "../users/handlers.ts";
import { type Credential, readCredential, findAccess, findKeyByHash } from "./store.ts";
import { isWithin } from "../../http/context.ts";
import { ALL_PERMISSIONS, may, type Principal, type Scope, SCOPES } from "../../http/principal.ts";
import { permissionsOfRole } from "./roles.ts";
import { equalHashes, sha256 } from "../../lib/crypto.ts";
import { endOfSession, findSession } from "./sessions.ts";

/** The credential of an API key, by the key's hash. */
export async function readKeyCredential(env: Env, hash: string): Promise<Credential | undefined> {
  return readCredential(`key ${hash}`, async () => {
    const row = await findKeyByHash(database(env.DB), hash);
    if (!row) return undefined;
    const { workspaceId, id, grantId, expiresAt, allowedIps, lastUsedAt } = row;
    const scopes = row.scopes as Scope[];
    const principal: Principal = {
      workspaceId,
      scopes,
      kind: "key",
      credentialId: id,
      hash,
      grantId: grantId ?? undefined,
      expiresAt: expiresAt ?? undefined,
      allowedIps: allowedIps ?? undefined,
      ...(await readRole(env, workspaceId, row.role)),
    };
    return { principal, resource: null, expiresAt: expiresAt ?? Infinity, lastUsedAt: lastUsedAt ?? 0 };
  });
}

/** The credential of an access token, by the token's hash; also one that has expired. */
export async function readTokenCredential(env: Env, hash: string): Promise<Credential | undefined> {
  return readCredential(`token ${hash}`, async () => {
    const row = await findAccess(database(env.DB), hash);
    if (!row || row.revokedAt !== null) return undefined;
    const { workspaceId, grantId, resource } = row;
    const expiresAt = Math.min(row.expiresAt, row.grantExpiresAt ?? Infinity);
    const scopes = row.scopes as Scope[];
    const allowedIps = row.allowedIps ?? undefined;
    const principal: Principal = {
      workspaceId,
      scopes,
      kind: "token",
      ...(await readRole(env, workspaceId, row.role)),
      credentialId: grantId,
      hash,
      grantId,
      allowedIps,
    };
    return { principal, resource, expiresAt };
  });
}

/** The credential of a member's browser, by the hash of the session's secret. */
export async function readSessionCredential(env: Env, hash: string): Promise<Credential | undefined> {
  return readCredential(`session ${hash}`, async () => {
    const found = await findSession(database(env.DB), hash, Date.now());
    if (!found) return undefined;
    const { session, member } = found;
    const { workspaceId, id } = member;
    const role = await readRole(env, workspaceId, member.role);
    const principal: Principal = { workspaceId, scopes: SCOPES, kind: "member", credentialId: id, hash, ...role };
    return { principal, resource: null, expiresAt: endOfSession(session), lastUsedAt: session.lastUsedAt };
  });
}

/** The role of a member or key, and its permissions. */
async function readRole(
  env: Env,
  workspaceId: string,
  role: string | null,
): Promise<Pick<Principal, "role" | "permissions">> {
  return role === null ? {} : { role, permissions: await permissionsOfRole(database(env.DB), workspaceId, role) };
}

/** The admin key's hash, made once. */
const admin = { key: "", hash: "" };

export function isAdminKey(hash: string, env: Env): boolean {
  if (!env.WEIR_ADMIN_KEY) return false;
  if (admin.key !== env.WEIR_ADMIN_KEY) {
    Object.assign(admin, { key: env.WEIR_ADMIN_KEY, hash: sha256(env.WEIR_ADMIN_KEY) });
  }
  return equalHashes(hash, admin.hash);
}

/** What of a request a later check of its credential needs. A WebSocket keeps it as JSON. */
export interface PresentedCredential {
  /** The caller's address from Cloudflare. */
  address?: string;
  /** For a user: the input of the next call of the deployment's own `authenticate`. */
  request?: { url: string; method: string; headers: [string, string][] };
}

export function describeRequest({ url, method, headers }: Request, { user }: Principal): PresentedCredential {
  const address = headers.get("cf-connecting-ip") ?? undefined;
  return user ? { address, request: { url, method, headers: [...headers] } } : { address };
}

/**
 * Whether the credential that opened a stream or a socket still holds, and may do all that it might then: its role or scopes
 * may have changed, and a stream does not ask again what it may send. One that ended a moment ago may hold for five more
 * seconds (store.ts). A check that fails for a fault of the server says yes: the next one decides.
 */
export async function isStillValid(env: Env, principal: Principal, presented: PresentedCredential): Promise<boolean> {
  try {
    return await checkCredential(env, principal, presented);
  } catch (error) {
    if (toProblem(error).status < 500) return false;
    logError(error, { while: "checking the credential of a stream" });
    return true;
  }
}

async function checkCredential(env: Env, principal: Principal, presented: PresentedCredential): Promise<boolean> {
  const { kind, hash = "" } = principal;
  if (kind === "key") return credentialHolds(await readKeyCredential(env, hash), principal, presented);
  if (kind === "token") return credentialHolds(await readTokenCredential(env, hash), principal, presented);
  if (kind === "member") return credentialHolds(await readSessionCredential(env, hash), principal, presented);
  if (kind === "admin") return isAdminKey(hash, env);
  if (kind === "user") return userHolds(principal, presented);
  return true;
}

/** Whether a credential is valid from the caller's address, and still has all permissions that it had for `principal`. */
function credentialHolds(now: Credential | undefined, principal: Principal, { address }: PresentedCredential): boolean {
  if (!now || now.expiresAt <= Date.now()) return false;
  const { allowedIps } = now.principal;
  if (allowedIps && !isWithin(address, allowedIps)) return false;
  return !ALL_PERMISSIONS.some((permission) => may(principal, permission) && !may(now.principal, permission));
}

/** Calls the deployment's `authenticate` at most every five seconds for one set of headers. */
async function userHolds(principal: Principal, { request }: PresentedCredential): Promise<boolean> {
  if (!request) return false;
  const { url, method, headers } = request;
  const credential = await readCredential(`user ${sha256(JSON.stringify(headers))}`, async () => {
    const user = await resolveUser(new Request(url, { method, headers }));
    const now: Principal = { ...principal, credentialId: user.identity };
    return { principal: now, resource: null, expiresAt: Infinity };
  });
  return credential?.principal.credentialId === principal.credentialId;
}
