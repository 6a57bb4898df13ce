/** The answer to a call without a matching route. */
import type { Context, Hono, NotFoundHandler } from "hono";
import { Problem, problemResponse } from "../lib/problem.ts";
import type { App } from "./context.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** 405 where the path takes other methods (RFC 9110, section 15.5.6), else 404. */
export function noRoute(app: Hono<App>): NotFoundHandler<App> {
  return (c) => {
    const { method, path } = c.req;
    const allowed = METHODS.filter((one) => isRouted(app, one, path));
    if (isDeadLink(app, c)) return notFoundPage(c);
    if (allowed.length === 0 || allowed.includes(method)) {
      return problemResponse(new Problem(404, `No route ${method} ${path}.`));
    }
    const allow = allowed.join(", ");
    return problemResponse(new Problem(405, `${path} takes ${allow} and not ${method}.`, { headers: { allow } }));
  };
}

/** What a person sees who follows a link that leads nowhere. */
const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Page not found</title>
<h1>Page not found</h1>
<p>No page has this address. <a href="/">Open the start page</a>, or <a href="/docs/">read the documentation</a>.</p>
</html>
`;

/** Whether a browser follows a link to an address that no method has. A program that calls gets a problem. */
export function isDeadLink(app: Hono<App>, { req }: Context<App>): boolean {
  const isLink = req.method === "GET" && /^text\/html\b/.test(req.header("accept") ?? "");
  return isLink && !METHODS.some((method) => isRouted(app, method, req.path));
}

export const notFoundPage = (c: Context<App>): Response | Promise<Response> => c.html(PAGE, 404);

/** Middleware is no route: it is there for any method of many paths. */
function isRouted(app: Hono<App>, method: string, path: string): boolean {
  const [found] = app.router.match(method, path);
  return found.some(([[, route]]) => !(route.method === "ALL" && route.path.endsWith("*")));
}
