/**
 * The session of a member's browser: a cookie that pages of this server send. A browser adds it to requests that other sites cause,
 * so a request is served by it only when it comes from a page of this server.
 */
import { getCookie } from "hono/cookie";
import type { Context } from "hono";
import { cookieName, isOwnOrigin } from "../http/html.ts";
import type { App } from "../http/context.ts";
import { acts } from "../http/route.ts";

export const SESSION_COOKIE = "weir_session";

export function sessionSecret(c: Context<App>): string | undefined {
  return getCookie(c, cookieName(c, SESSION_COOKIE)) || undefined;
}

/** Whether a page of this server, or the person at the address bar, makes this request. */
export function isFromOwnPage(c: Context<App>): boolean {
  const { method } = c.req;
  const reads = (method === "GET" || method === "HEAD") && !acts(c.req.raw);
  if (!reads || c.req.header("origin") !== undefined) return isOwnOrigin(c);
  return ["same-origin", "none"].includes(c.req.header("sec-fetch-site") ?? "none");
}
