/** The answer to a call without a matching route. */
import type { Hono, NotFoundHandler } from "hono";
import { Problem, problemResponse } from "./problem.ts";
import type { App } from "./types.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** 405 where the path takes other methods (RFC 9110, section 15.5.6), else 404. */
export function noRoute(app: Hono<App>): NotFoundHandler<App> {
  return (c) => {
    const { method, path } = c.req;
    const allowed = METHODS.filter((one) => isRouted(app, one, path));
    if (allowed.length === 0 || allowed.includes(method)) {
      return problemResponse(new Problem(404, `No route ${method} ${path}.`));
    }
    const allow = allowed.join(", ");
    return problemResponse(new Problem(405, `${path} takes ${allow} and not ${method}.`, { headers: { allow } }));
  };
}

/** Middleware is no route: it is there for any method of many paths. */
function isRouted(app: Hono<App>, method: string, path: string): boolean {
  const [found] = app.router.match(method, path);
  return found.some(([[, route]]) => !(route.method === "ALL" && route.path.endsWith("*")));
}
