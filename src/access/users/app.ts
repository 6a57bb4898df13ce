/** The user's own Hono application, mounted before the built-in routes. */
import type { Context, Hono, MiddlewareHandler } from "hono";
import { inspectRoutes } from "hono/dev";
import { matchedRoutes } from "hono/route";
import type { RouterRoute } from "hono/types";
import { getPathNoStrict } from "hono/utils/url";
import type { Principal, Scope } from "../../http/principal.ts";
import type { App } from "../../http/context.ts";
import { onBehalf } from "../../http/loopback.ts";
import { custom } from "../../deployment.ts";

/** The routes and the middleware of the user's application, as the server's application has them. */
const own = new WeakSet<RouterRoute>();

export function mountApp(app: Hono<App>, application: NonNullable<typeof custom.app>): void {
  const before = app.routes.length;
  app.use(behalfOfCaller).route("/", application as Hono<App>);
  for (const route of app.routes.slice(before)) own.add(route);
}

/**
 * The scope that a route of the user's application needs; undefined when none of them is for this request. Middleware with a path
 * counts, because a handler may have the same form. What the application passes on must not be answered by a built-in route.
 */
export function userRouteScope(c: Context<App>): Scope | undefined {
  if (!matchedRoutes(c).some((route) => route.path !== "/*" && own.has(route))) return undefined;
  return c.req.method === "GET" || c.req.method === "HEAD" ? "read" : "write";
}

/** Whether a handler of the user's application, and not only its middleware, takes a POST to this address. */
export function hasPostHandler(address: URL): boolean {
  if (!custom.app) return false;
  const { routes, router } = custom.app;
  const [matched] = router.match("POST", getPathNoStrict(new Request(address)));
  const inspected = inspectRoutes(custom.app);
  const isHandler = (route: RouterRoute) =>
    route.method === "POST" || inspected[routes.indexOf(route)]?.isMiddleware === false;
  return matched.some(([[, route]]) => route.path !== "/*" && isHandler(route));
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
    const body = form instanceof FormData ? encodeForm(form, headers) : await c.req.arrayBuffer();
    c.req.raw = new Request(url, { method, headers, signal, body });
  }
  await next();
};

function encodeForm(form: FormData, headers: Headers): BodyInit {
  if (headers.get("content-type")?.startsWith("application/x-www-form-urlencoded"))
    return new URLSearchParams(
      [...form].flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
    );
  // The new body has a boundary of its own, which its content type names.
  headers.delete("content-type");
  return form;
}
