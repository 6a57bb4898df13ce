import type { Context } from "hono";
import { isKnownOrigin, addressOf } from "../http/origin.ts";
import type { App } from "../http/types.ts";

/** Resources with metadata of their own (RFC 9728), below the whole server. */
export const RESOURCES = ["/mcp"];

/** The `WWW-Authenticate` of a 401 or 403: where a client finds out how to get a token (RFC 6750, RFC 9728 section 5.1). */
export function challenge(c: Context<App>, parameters: Record<string, string> = {}): Record<string, string> {
  const { pathname } = new URL(c.req.url);
  const resource = RESOURCES.find((path) => pathname === path || pathname.startsWith(`${path}/`)) ?? "";
  const metadata = `${addressOf(c)}/.well-known/oauth-protected-resource${resource}`;
  const all = { ...parameters, ...(isKnownOrigin(c) && { resource_metadata: metadata }) };
  const text = Object.entries(all).map(([name, value]) => `${name}="${value}"`);
  return { "www-authenticate": `Bearer ${text.join(", ")}`.trim() };
}
