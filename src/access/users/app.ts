/** The user's own Hono application, mounted before the built-in routes. */
import type { Context, Hono, MiddlewareHandler } from "hono";
import { inspectRoutes } from "hono/dev";
import { matchedRoutes } from "hono/route";
import type { RouterRoute } from "hono/types";
import { getPathNoStrict } from "hono/utils/url";
import type { Principal, Scope } from "../../http/principal.ts";
import type { App } from "../../http/context.ts";
import { callAs, isForApp } from "../../http/loopback.ts";
import { projectExports } from "../../deployment.ts";
import { Problem } from "../../lib/problem.ts";
import { UserRequest, type UserRule } from "./request.ts";

/** The routes and the middleware of the user's application, as the server's application has them. */
const own = new WeakSet<RouterRoute>();

export function mountApp(app: Hono<App>, application: NonNullable<typeof projectExports.app>): void {
  const before = app.routes.length;
  app.use(callAsRequester).route("/", application as Hono<App>);
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
  if (!projectExports.app) return false;
  const { routes, router } = projectExports.app;
  const [matched] = router.match("POST", getPathNoStrict(new Request(address)));
  const inspected = inspectRoutes(projectExports.app);
  const isHandler = (route: RouterRoute) =>
    route.method === "POST" || inspected[routes.indexOf(route)]?.isMiddleware === false;
  return matched.some(([[, route]]) => route.path !== "/*" && isHandler(route));
}

/** The application's own calls of this server act for the caller of its route. */
export const callAsRequester: MiddlewareHandler<App> = async (c, next) => {
  const principal = c.get("principal") as Principal | undefined;
  // Hono merges headers and cookies that the application sets into a later Response only if there is an answer to merge
  // into, and the first read makes one. The answer of an upgrade cannot be merged.
  if (c.req.header("upgrade") === undefined) void c.res;
  return principal ? callAs({ env: c.env, principal }, next) : next();
};

/**
 * Restores the request's body after the user's middleware has read it with `c.req.json()` or a method like it, which keep
 * what they read. The built-in routes read the body of `c.req.raw`.
 */
export const replayBody: MiddlewareHandler<App> = async (c, next) => {
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

/** What the `Auth` is asked at the routes that match. The first row counts; a route without a row is not for users. `methods`: one, `*`, or SOCKET for an upgrade. */
export type UserRules = readonly (readonly [methods: string, path: RegExp, rule: UserRule])[];

const refuseUsers = () => new Problem(403, "This call is not for users of this deployment.");

/** Lets a user's request through, narrowed to what the user may see. Other callers pass untouched. */
export const guardUsers =
  (rules: UserRules): MiddlewareHandler<App> =>
  async (c, next) => {
    if (isForApp(c.req.raw)) c.set("appOnly", true);
    const principal = c.get("principal") as App["Variables"]["principal"] | undefined;
    if (!principal?.user) return next();
    const { method, path } = c.req;
    const verb = c.req.header("upgrade") === undefined ? method : "SOCKET";
    const row = rules.find(([methods, pattern]) => (methods === "*" || methods === verb) && pattern.test(path));
    if (!row && !userRouteScope(c)) throw refuseUsers();
    if (!row) {
      c.set("appOnly", true);
      return next();
    }
    const [id, ...others] = row[1].exec(path)?.slice(1) ?? [];
    const ids = id === undefined ? [] : [c.get("threadId") ?? id, ...others];
    const answer = await row[2](new UserRequest(c, ids.map(decodePart)));
    if (answer) return answer;
    return next();
  };

/**
 * Refuses what the project's `app` has passed on when no rule lets a built-in route answer it. It is mounted between the `app` and
 * the built-in routes: only there it is known that the `app` does not answer.
 */
export const guardBuiltIn: MiddlewareHandler<App> = async (c, next) => {
  if (!c.get("appOnly")) return next();
  const principal = c.get("principal") as App["Variables"]["principal"] | undefined;
  if (principal?.user) throw refuseUsers();
  return c.notFound();
};

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new Problem(400, "The path is not encoded as it must be: after % come two hexadecimal digits of UTF-8.");
  }
}
