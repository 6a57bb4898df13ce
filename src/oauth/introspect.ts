/** `/oauth/introspect` (RFC 7662): what an access token may do, for a service of the workspace that receives it. */
import type { Context } from "hono";
import { sha256 } from "../auth/secret.ts";
import { database } from "../db/client.ts";
import type { App } from "../http/types.ts";
import { requiredField } from "./form.ts";
import { issuerOf } from "./issuer.ts";
import { findToken } from "./store.ts";
import { hasEnded } from "./token.ts";

const INACTIVE = { active: false };

/**
 * The token of the form. Inactive is every token that opens nothing in the caller's workspace: a token of another
 * workspace, one that has ended, and a refresh token, which a service must not take for an access token.
 */
export async function introspectToken(c: Context<App>, form: URLSearchParams) {
  const found = await findToken(database(c.env.DB), sha256(requiredField(form, "token")));
  if (!found) return INACTIVE;
  const { token, grant } = found;
  const expiresAt = Math.min(token.expiresAt, grant.expiresAt ?? Infinity);
  const isOwn = grant.workspaceId === c.get("principal").workspaceId;
  if (token.kind !== "access" || !isOwn || hasEnded(grant) || expiresAt <= Date.now()) return INACTIVE;
  const issuer = issuerOf(c);
  return {
    active: true,
    scope: token.scopes.join(" "),
    client_id: grant.clientId,
    token_type: "Bearer",
    exp: Math.floor(expiresAt / 1000),
    sub: grant.credentialId,
    aud: `${issuer}${grant.resource ?? ""}`,
    iss: issuer,
    workspace_id: grant.workspaceId,
  };
}
