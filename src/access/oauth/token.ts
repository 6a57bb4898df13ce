/** `/oauth/token` and `/oauth/revoke`: codes and refresh tokens become tokens; tokens end. */
import { createHash } from "node:crypto";
import type { Context } from "hono";
import { audit } from "../audit/record.ts";
import { type Scope, SCOPES, ALL_PERMISSIONS, may, PERMISSIONS } from "../../http/principal.ts";
import { newSecret, sameSecret, sha256 } from "../../lib/crypto.ts";
import type { GrantRow } from "../auth/store.ts";
import { database } from "../../db/client.ts";
import type { App } from "../../http/context.ts";
import { requireIssuer } from "./metadata.ts";
import { readField, readRequiredField, readResource } from "./request.ts";
import { OAuthError } from "./errors.ts";
import {
  type ClientRow,
  exchangeCode,
  exchangeRefresh,
  findClient,
  findCode,
  findToken,
  isSpent,
  revokeGrant,
  type TokenRow,
} from "./store.ts";
import { readTokenCredential } from "../auth/credentials.ts";

/** Seconds that an access token works. */
const ACCESS_SECONDS = 3600;
/** Seconds after which an unused refresh token expires. */
const REFRESH_SECONDS = 30 * 24 * 3600;

/** Answers a token request (RFC 6749 sections 4.1.3 and 6). */
export async function issueTokens(c: Context<App>, form: URLSearchParams) {
  const grantType = readRequiredField(form, "grant_type");
  const client = await findClient(database(c.env.DB), readRequiredField(form, "client_id"));
  if (!client) throw new OAuthError("invalid_client", "The client is not registered here.", 401);
  switch (grantType) {
    case "authorization_code":
      return redeemCode(c, client, form);
    case "refresh_token":
      return refresh(c, client, form);
    default:
      throw new OAuthError("unsupported_grant_type", "grant_type must be authorization_code or refresh_token.");
  }
}

async function redeemCode(c: Context<App>, client: ClientRow, form: URLSearchParams) {
  const db = database(c.env.DB);
  const hash = sha256(readRequiredField(form, "code"));
  const verifier = readRequiredField(form, "code_verifier");
  const redirectUri = readRequiredField(form, "redirect_uri");
  const found = await findCode(db, hash);
  if (!found || found.code.clientId !== client.id) throw invalidGrant("The code is not known.");
  const { code, grant } = found;
  if (code.successor !== null) throw await endReusedGrant(c, grant, "The code was used before.");
  if (code.expiresAt <= Date.now() || hasEnded(grant)) throw invalidGrant("The code has expired.");
  if (code.redirectUri !== redirectUri) throw invalidGrant("redirect_uri is not that of the authorization request.");
  if (!isVerified(verifier, code.challenge)) throw invalidGrant("code_verifier does not match the challenge.");
  checkResource(form, code.resource, requireIssuer(c));
  const { rows, answer } = newTokens(client, grant, grant.scopes as Scope[]);
  if (!(await exchangeCode(db, hash, rows))) throw await endReusedGrant(c, grant, "The code was used before.");
  return answer;
}

async function refresh(c: Context<App>, client: ClientRow, form: URLSearchParams) {
  const db = database(c.env.DB);
  const hash = sha256(readRequiredField(form, "refresh_token"));
  const found = await findToken(db, hash);
  if (!found || found.token.kind !== "refresh" || found.grant.clientId !== client.id) {
    throw invalidGrant("The refresh token is not known.");
  }
  const { token, grant } = found;
  if (hasEnded(grant)) throw invalidGrant("The access was revoked.");
  if (token.expiresAt <= Date.now()) {
    if (await isSpent(db, hash)) throw await endReusedGrant(c, grant, "The refresh token was used before.");
    throw invalidGrant("The refresh token has expired.");
  }
  checkResource(form, grant.resource, requireIssuer(c));
  const { rows, answer } = newTokens(client, grant, narrowScopes(readField(form, "scope"), grant), hash);
  if (!(await exchangeRefresh(db, hash, rows))) {
    throw await endReusedGrant(c, grant, "The refresh token was used before.");
  }
  return answer;
}

/** Whether a grant was revoked, or has ended with the key of the person who gave it. */
export function hasEnded({ revokedAt, expiresAt }: GrantRow): boolean {
  return revokedAt !== null || (expiresAt !== null && expiresAt <= Date.now());
}

/** RFC 6749 section 6: a refresh may request less than was granted, never more. */
function narrowScopes(scope: string | undefined, grant: GrantRow): Scope[] {
  const asked = scope?.split(" ") ?? grant.scopes;
  if (!asked.every((name) => grant.scopes.includes(name))) {
    throw new OAuthError("invalid_scope", "scope names more than was granted.");
  }
  return SCOPES.filter((name) => asked.includes(name));
}

function isVerified(verifier: string, challenge: string): boolean {
  if (!/^[\w.~-]{43,128}$/.test(verifier)) return false;
  return sameSecret(createHash("sha256").update(verifier).digest("base64url"), challenge);
}

function checkResource(form: URLSearchParams, granted: string | null, origin: string): void {
  const asked = readField(form, "resource");
  if (asked === undefined || readResource(asked, origin) === granted) return;
  throw new OAuthError("invalid_target", "resource is not that of the authorization request.");
}

/** `parent`: the hash of the refresh token that is exchanged. */
function newTokens(client: ClientRow, grant: GrantRow, scopes: Scope[], parent: string | null = null) {
  const now = Date.now();
  const row = (kind: TokenRow["kind"], secret: string, seconds: number, of: string[]): TokenRow => ({
    hash: sha256(secret),
    kind,
    grantId: grant.id,
    scopes: of,
    expiresAt: now + seconds * 1000,
    successor: null,
    parent,
  });
  const access = newSecret("weir_at_");
  const rows: [TokenRow, ...TokenRow[]] = [row("access", access, ACCESS_SECONDS, scopes)];
  const refreshes = client.grantTypes.includes("refresh_token");
  const refreshToken = refreshes ? newSecret("weir_rt_") : undefined;
  // The refresh token keeps the whole grant, even when this access token is narrower.
  if (refreshToken) rows.push(row("refresh", refreshToken, REFRESH_SECONDS, grant.scopes));
  const answer = {
    access_token: access,
    token_type: "Bearer",
    expires_in: ACCESS_SECONDS,
    refresh_token: refreshToken,
    scope: scopes.join(" "),
    // What to send as X-Tenant-Id.
    workspace_id: grant.workspaceId,
  };
  return { rows, answer };
}

/** A code or rotated refresh token was replayed, so it may be stolen: revokes the whole token family (RFC 9700, 4.14.2). */
async function endReusedGrant(c: Context<App>, grant: GrantRow, description: string): Promise<OAuthError> {
  if (await revokeGrant(database(c.env.DB), grant.id, Date.now())) {
    await audit(c, {
      workspaceId: grant.workspaceId,
      actor: { kind: "client", credentialId: grant.clientId },
      action: "grant.reuse_detected",
      targetId: grant.id,
    });
  }
  return invalidGrant(description);
}

/** RFC 7009: ends the grant of a token that this client holds. Says nothing about tokens that it does not hold. */
export async function revokeToken(c: Context<App>, form: URLSearchParams): Promise<void> {
  const db = database(c.env.DB);
  const token = readRequiredField(form, "token");
  const clientId = readRequiredField(form, "client_id");
  const found = await findToken(db, sha256(token));
  if (!found || found.grant.clientId !== clientId) return;
  if (!(await revokeGrant(db, found.grant.id, Date.now()))) return;
  await audit(c, {
    workspaceId: found.grant.workspaceId,
    actor: { kind: "client", credentialId: clientId },
    action: "grant.revoked",
    targetId: found.grant.id,
  });
}

function invalidGrant(description: string): OAuthError {
  return new OAuthError("invalid_grant", description);
}

// `/oauth/introspect` (RFC 7662): what an access token may do, for a service of the workspace that receives it.

const INACTIVE = { active: false };

/**
 * The token of the form. Inactive is every token that opens nothing in the caller's workspace: a token of another
 * workspace, one that has ended, and a refresh token, which a service must not take for an access token.
 */
export async function introspectToken(c: Context<App>, form: URLSearchParams) {
  const hash = sha256(readRequiredField(form, "token"));
  const found = await findToken(database(c.env.DB), hash);
  if (!found) return INACTIVE;
  const { token, grant } = found;
  const expiresAt = Math.min(token.expiresAt, grant.expiresAt ?? Infinity);
  const isOwn = grant.workspaceId === c.get("principal").workspaceId;
  if (token.kind !== "access" || !isOwn || hasEnded(grant) || expiresAt <= Date.now()) return INACTIVE;
  const principal = (await readTokenCredential(c.env, hash))?.principal;
  if (!principal) return INACTIVE;
  const permissions = ALL_PERMISSIONS.filter((permission) => may(principal, permission));
  const left = new Set<string>(permissions.map((permission) => PERMISSIONS[permission]));
  const issuer = requireIssuer(c);
  return {
    active: true,
    // Of some scopes, the role of the person's key may leave nothing.
    scope: token.scopes.filter((scope) => left.has(scope)).join(" "),
    permissions,
    client_id: grant.clientId,
    token_type: "Bearer",
    exp: Math.floor(expiresAt / 1000),
    sub: grant.credentialId,
    aud: `${issuer}${grant.resource ?? ""}`,
    iss: issuer,
    workspace_id: grant.workspaceId,
  };
}
