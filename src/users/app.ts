/** The user's own Hono application, mounted before the built-in routes. */
import type { Context, MiddlewareHandler } from "hono";
import { matchedRoutes } from "hono/route";
import type { Principal, Scope } from "../principal.ts";
import type { App } from "../http/types.ts";
import { onBehalf } from "../loopback/caller.ts";
import { custom } from "./registry.ts";

/** The scope that a route of the user's application needs; undefined when none of them answers this request. */
export function userRouteScope(c: Context<App>): Scope | undefined {
  const own = new Set(custom.app?.routes.map(({ path }) => path));
  if (!matchedRoutes(c).some(({ path }) => path !== "/*" && own.has(path))) return undefined;
  return c.req.method === "GET" || c.req.method === "HEAD" ? "read" : "write";
}

/** Whether a route of the user's application, and not only its middleware, takes a POST to this path. */
export function takesPost(path: string): boolean {
  const { pathname } = new URL(path, "http://weir.internal");
  const [matched = []] = custom.app?.router.match("POST", pathname) ?? [];
  return matched.some(([[, route]]) => route.path !== "/*");
}

/** The application's own calls of this server act for the caller of its route. */
export const behalfOfCaller: MiddlewareHandler<App> = async (c, next) => {
  const principal = c.get("principal") as Principal | undefined;
  // Hono merges headers and cookies that the application sets into a later Response only if there is an answer to merge
  // into, and the first read makes one. The answer of an upgrade cannot be merged.
  if (c.req.header("upgrade") === undefined) void c.res;
  return principal ? onBehalf({ env: c.env, principal }, next) : next();
};

/**
 * Restores the request's body after the user's middleware has read it with `c.req.json()` or a method like it, which keep
 * what they read. The built-in routes read the body of `c.req.raw`.
 */
export const bodyAgain: MiddlewareHandler<App> = async (c, next) => {
  const { raw, bodyCache } = c.req;
  if (raw.bodyUsed) {
    if (Object.keys(bodyCache).length === 0)
      throw new Error("Middleware of the application read c.req.raw. Read the body with c.req, or from a clone.");
    const { url, method, signal } = raw;
    const headers = new Headers(raw.headers);
    const form: unknown = await Promise.resolve(bodyCache.formData);
    const body = form instanceof FormData ? written(form, headers) : await c.req.arrayBuffer();
    c.req.raw = new Request(url, { method, headers, signal, body });
  }
  await next();
};

/** A form in the encoding that it came in. */
function written(form: FormData, headers: Headers): BodyInit {
  if (headers.get("content-type")?.startsWith("application/x-www-form-urlencoded"))
    return new URLSearchParams(
      [...form].flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
    );
  // The new body has a boundary of its own, which its content type names.
  headers.delete("content-type");
  return form;
}
