import type { Context } from "hono";
import { isKnownOrigin, serverAddress } from "../http/context.ts";
import type { App } from "../http/context.ts";

/** Characters of the id of an assistant in an address. A longer one names none, and the header of a refusal has room for few. */
const LONGEST_ID = 300;
const RESOURCE = new RegExp(`^/(?:mcp(?:/traces)?|(?:a2a|agui)/[^/]{1,${LONGEST_ID}})(?=/|$)`);

/**
 * The resource with metadata of its own (RFC 9728) that a path is in: MCP, the traces over MCP, or an assistant over A2A or AG-UI.
 * Elsewhere "", the whole server.
 */
export function matchResource(path: string): string {
  return RESOURCE.exec(path)?.[0] ?? "";
}

/** Whether a token for this resource (RFC 8707) works at the path. A resource with metadata of its own has no other one below it. */
export function isInResource(path: string, resource: string): boolean {
  if (path !== resource && !path.startsWith(`${resource}/`)) return false;
  return matchResource(resource) !== resource || matchResource(path) === resource;
}

/** The `WWW-Authenticate` of a 401 or 403: where a client finds out how to get a token (RFC 6750, RFC 9728 section 5.1). */
export function challenge(c: Context<App>, parameters: Record<string, string> = {}): Record<string, string> {
  const { pathname, searchParams } = new URL(c.req.url);
  const metadata = `${serverAddress(c)}/.well-known/oauth-protected-resource${matchResource(pathname)}`;
  // Clients request this scope rather than those of the metadata, which are for reading (MCP, scope selection strategy).
  const writes = matchResource(pathname) === "/mcp/traces" && searchParams.get("write") === "true";
  const all = {
    ...(writes && { scope: "read write" }),
    ...parameters,
    ...(isKnownOrigin(c) && { resource_metadata: metadata }),
  };
  const text = Object.entries(all).map(([name, value]) => `${name}="${value}"`);
  return { "www-authenticate": `Bearer ${text.join(", ")}`.trim() };
}
