import type { Context } from "hono";
import { isKnownOrigin, addressOf } from "../http/origin.ts";
import type { App } from "../http/types.ts";

/**
 * The resource with metadata of its own (RFC 9728) that a path is in: MCP, or an assistant over A2A or AG-UI. Elsewhere "",
 * the whole server.
 */
export function resourceOf(path: string): string {
  return /^\/(?:mcp|(?:a2a|agui)\/[^/]+)(?=\/|$)/.exec(path)?.[0] ?? "";
}

/** The `WWW-Authenticate` of a 401 or 403: where a client finds out how to get a token (RFC 6750, RFC 9728 section 5.1). */
export function challenge(c: Context<App>, parameters: Record<string, string> = {}): Record<string, string> {
  const { pathname } = new URL(c.req.url);
  const metadata = `${addressOf(c)}/.well-known/oauth-protected-resource${resourceOf(pathname)}`;
  const all = { ...parameters, ...(isKnownOrigin(c) && { resource_metadata: metadata }) };
  const text = Object.entries(all).map(([name, value]) => `${name}="${value}"`);
  return { "www-authenticate": `Bearer ${text.join(", ")}`.trim() };
}
