/** `/oauth/introspect` (RFC 7662): what an access token may do, for a service of the workspace that receives it. */
import type { Context } from "hono";
import { tokenCredential } from "../access/auth/credentials.ts";
import { sha256 } from "../lib/crypto.ts";
import { database } from "../db/client.ts";
import type { App } from "../http/context.ts";
import { ALL_PERMISSIONS, may, PERMISSIONS } from "../http/principal.ts";
import { readRequiredField } from "./form.ts";
import { requireIssuer } from "./issuer.ts";
import { findToken } from "../access/oauth/store.ts";
import { hasEnded } from "../access/oauth/token.ts";

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
  const principal = (await tokenCredential(c.env, hash))?.principal;
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
