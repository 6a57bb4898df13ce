/** What a client learns before it registers: RFC 8414 (authorization server) and RFC 9728 (protected resource). */
import { matchResource } from "../auth/authenticate.ts";
import { type Scope, SCOPES } from "../../http/principal.ts";
import type { Context } from "hono";
import { isKnownOrigin, serverAddress, type App } from "../../http/context.ts";
import { OAuthError } from "./errors.ts";

/** The resources that are listed: the whole server, MCP, and the traces over MCP. Each assistant is one more over A2A, and over AG-UI. */
const LISTED = ["", "/mcp", "/mcp/traces"];

/** RFC 8414: where the endpoints are, and what they take. */
export function serverMetadata(origin: string, provider: string | undefined) {
  return {
    // For the console: RFC 8414, section 2, allows more members.
    ...(provider && { weir_sign_in_endpoint: `${origin}/oauth/openid/sign-in`, weir_sign_in_provider: provider }),
    issuer: origin,
    authorization_endpoint: `${origin}/oauth/authorize`,
    token_endpoint: `${origin}/oauth/token`,
    registration_endpoint: `${origin}/oauth/register`,
    revocation_endpoint: `${origin}/oauth/revoke`,
    introspection_endpoint: `${origin}/oauth/introspect`,
    scopes_supported: SCOPES,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    token_endpoint_auth_methods_supported: ["none"],
    revocation_endpoint_auth_methods_supported: ["none"],
    introspection_endpoint_auth_methods_supported: ["Bearer"],
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
    resource_parameter_supported: true,
    protected_resources: LISTED.map((path) => origin + path),
  };
}

/** The metadata of the resource at `path`; undefined when there is none. */
export function resourceMetadata(origin: string, path: string) {
  if (path !== matchResource(path)) return undefined;
  return {
    resource: origin + path,
    resource_name: "Weir",
    authorization_servers: [origin],
    scopes_supported: resourceScopes(path),
    bearer_methods_supported: ["header"],
  };
}

/** Traces over MCP are for reading; the challenge of an address with `write=true` names the scope `write`, too. */
function resourceScopes(path: string): readonly Scope[] {
  if (path === "") return SCOPES;
  return path === "/mcp/traces" ? ["read"] : ["read", "write"];
}

/** This server as the issuer of tokens. @throws OAuthError 421 when only the request's Host header says its address. */
export function requireIssuer(c: Context<App>): string {
  if (isKnownOrigin(c)) return serverAddress(c);
  const host = new URL(c.req.url).host.slice(0, 200);
  throw new OAuthError("invalid_request", `This server is not known as ${host}. Set PUBLIC_URL to its address.`, 421);
}
