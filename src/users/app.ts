/** The user's own Hono application, mounted before the built-in routes. */
import type { Context } from "hono";
import { matchedRoutes } from "hono/route";
import type { Scope } from "../auth/principal.ts";
import type { App } from "../http/types.ts";
import { custom } from "./registry.ts";

/** The scope that a route of the user's application needs; undefined when none of them answers this request. */
export function userRouteScope(c: Context<App>): Scope | undefined {
  const own = new Set(custom.app?.routes.map(({ path }) => path));
  if (!matchedRoutes(c).some(({ path }) => path !== "/*" && own.has(path))) return undefined;
  return c.req.method === "GET" || c.req.method === "HEAD" ? "read" : "write";
}
