/** Middleware of every route: headers of responses, CORS, request ids, unread bodies, and paths without a route. */
import type { Context, MiddlewareHandler, Hono, NotFoundHandler } from "hono";
import { cors } from "hono/cors";
import { matchedRoutes } from "hono/route";
import type { CorsSettings } from "../config.ts";
import { isRequestSampled, logRequest, requestId } from "../lib/log.ts";
import type { App } from "./context.ts";
import { Problem, problemResponse } from "../lib/problem.ts";

interface Environment {
  Bindings: Env;
}

const EXPOSED = [
  "content-location",
  "location",
  "x-pagination-total",
  "x-pagination-next",
  "www-authenticate",
  "retry-after",
  "mcp-session-id",
  "x-request-id",
  "x-weir-run-ended",
];

/**
 * Headers of a JSON answer that sends newlines until its result is there. A compressor holds such short writes back.
 * Cloudflare leaves a body alone by `no-transform`, Miniflare only by a content encoding of its own.
 */
export const UNCOMPRESSED = { "cache-control": "no-cache, no-transform", "content-encoding": "identity" };

/** Whether the answer has begun before its result is there. */
export const isStreamedLate = ({ headers }: Response): boolean => headers.get("content-encoding") === "identity";

/**
 * CORS. The API is called with keys in headers and never with cookies, so any site may by default; `settings` narrow
 * that, and `CORS_ORIGINS` before them. Clients may send any header of their own. The sign-in pages are for no other site.
 */
export function crossOrigin(settings: CorsSettings = {}): MiddlewareHandler<Environment> {
  const { allow_methods, allow_headers = [], allow_credentials, expose_headers = [], max_age } = settings;
  const pattern =
    settings.allow_origin_regex === undefined ? undefined : new RegExp(`^(?:${settings.allow_origin_regex})$`);
  const configured = settings.allow_origins?.join(",") ?? (pattern ? "" : "*");
  const allowed = (origin: string, { env }: Context<Environment>) =>
    pattern?.test(origin) && !env.CORS_ORIGINS ? origin : allowedOrigin(origin, env.CORS_ORIGINS || configured);
  const preflight = cors({
    origin: allowed,
    ...(allow_methods && !allow_methods.includes("*") && { allowMethods: allow_methods }),
    // When empty, the answer to a preflight allows the requested headers.
    allowHeaders: allow_headers.includes("*") ? [] : allow_headers,
    credentials: allow_credentials,
    maxAge: max_age ?? 86_400,
  });
  const headers = {
    "access-control-expose-headers": [...EXPOSED, ...expose_headers].join(","),
    ...(allow_credentials && { "access-control-allow-credentials": "true" }),
  };
  return async (c, next) => {
    // The answer of an upgraded connection accepts no headers, and pages set their own cookies.
    if (c.req.header("upgrade") !== undefined || /^\/oauth\/(authorize|openid\/)/.test(c.req.path)) return next();
    if (c.req.method === "OPTIONS") return preflight(c, next);
    await next();
    const origin = allowed(c.req.header("origin") ?? "", c);
    changeHeaders(c, (answer) => {
      addHeaders(answer, origin === null ? headers : { ...headers, "access-control-allow-origin": origin });
      // The response may depend on the requesting origin, even when none is allowed.
      if (origin !== "*") answer.append("vary", "origin");
    });
  };
}

/** The value of Access-Control-Allow-Origin; null sends none. `configured`: `*`, or origins separated by commas. */
function allowedOrigin(origin: string, configured: string): string | null {
  if (configured.trim() === "*") return "*";
  const origins = configured.split(",").map((one) => one.trim().replace(/\/$/, ""));
  return origins.includes(origin) ? origin : null;
}

/**
 * `x-request-id` of every answer: the caller's own when it has up to 200 letters, digits and `._:/+=-`, else a new one. Log
 * lines of the request have it as `request_id`. A part of the requests is logged (`REQUEST_LOG_RATE`).
 */
export const identified: MiddlewareHandler<Environment> = async (c, next) => {
  const given = c.req.header("x-request-id") ?? "";
  const id = /^[\w.:/+=-]{1,200}$/.test(given) ? given : crypto.randomUUID();
  const began = Date.now();
  await requestId.run(id, async () => {
    await next();
    if (!isRequestSampled(c.env.REQUEST_LOG_RATE)) return;
    const route = matchedRoutes(c).findLast(({ method }) => method !== "ALL")?.path ?? "/*";
    logRequest({ method: c.req.method, route, status: c.res.status, ms: Date.now() - began });
  });
  if (c.req.header("upgrade") === undefined) changeHeaders(c, (answer) => answer.set("x-request-id", id));
};

const HARDENED = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cross-origin-resource-policy": "same-origin",
};
/** Without `includeSubDomains`: other hosts of the domain are not this server's. */
const HARDENED_TLS = { ...HARDENED, "strict-transport-security": "max-age=31536000" };

export const hardening: MiddlewareHandler<Environment> = async (c, next) => {
  await next();
  if (c.req.header("upgrade") !== undefined) return;
  changeHeaders(c, (answer) => addHeaders(answer, c.req.url.startsWith("https:") ? HARDENED_TLS : HARDENED));
};

/**
 * Changes the headers of the finished answer. Headers that are set before there is an answer cost Hono a second Response and
 * a copy of all headers. The headers of a response that `fetch` gave cannot be changed, so that response is copied.
 */
export function changeHeaders(c: Context, set: (headers: Headers) => void): void {
  try {
    set(c.res.headers);
  } catch {
    c.res = new Response(c.res.body, c.res);
    set(c.res.headers);
  }
}

/** Adds headers without replacing those that the deployment's own application has set. */
function addHeaders(answer: Headers, headers: Record<string, string>): void {
  for (const [name, value] of Object.entries(headers)) if (!answer.has(name)) answer.set(name, value);
}

// Reads what is left of a body that a request was answered without.

/** Enough for every body that a route accepts, and some more: a client that is not read may not read its answer. */
const DRAINED = 32 * 1024 * 1024;
/** How long that may take: a client may wait for its answer before it sends the rest. */
const PATIENCE_MS = 5_000;

/**
 * workerd reads at most 64 KB of a body after its answer, and then closes the connection, in which the answer may be lost: the
 * client has an error of the connection in the place of a 413 or 401. So a larger body is read first, up to a bound.
 */
export const drainBody: MiddlewareHandler = async (c, next) => {
  await next();
  const { body } = c.req.raw;
  if (c.res.status < 400 || body === null || body.locked) return;
  await Promise.race([readRest(body), scheduler.wait(PATIENCE_MS)]);
};

async function readRest(body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader();
  try {
    for (let read = 0; read <= DRAINED;) {
      const { done, value } = await reader.read();
      if (done) return;
      read += value.byteLength;
    }
  } catch {
    // The body was already read or forwarded, or the client disconnected.
  }
}

// Errors as plain sentences, for clients that accept text and no JSON.

const PROBLEM = "application/problem+json";

/**
 * Answers a problem with its `detail` as `text/plain`, when `Accept` lists that and no JSON. The JavaScript SDK puts an
 * error's whole body into its message.
 */
export const plainErrors: MiddlewareHandler<App> = async (c, next) => {
  await next();
  const { res } = c;
  const accept = c.req.header("accept") ?? "";
  if (res.headers.get("content-type") !== PROBLEM || !/\btext\/plain\b/i.test(accept) || /\bjson\b/i.test(accept))
    return;
  const { detail } = await res.json<{ detail: string }>();
  const headers = new Headers(res.headers);
  headers.set("content-type", "text/plain; charset=utf-8");
  headers.delete("content-length");
  c.res = undefined;
  c.res = new Response(detail, { status: res.status, headers });
};

// The answer to a call without a matching route.

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

// No cache keeps an answer that a credential, a link or a cookie opened.

/** What anyone may read without any credential, by the same bytes: a cache may keep it. */
const FOR_ALL =
  /^\/(?:ok|info|api\/v1\/info|openapi\.json|(?:a2a\/[^/]+\/|mcp\/|agui\/[^/]+\/)?\.well-known\/.*|ui\/[^/]+\/entrypoint\.(?:js|css))$/;

/**
 * `Cache-Control: private, no-store` where a route says nothing, and `private` where it says something else: a shared cache
 * stores answers to requests with `X-API-Key` otherwise (RFC 9111, section 3: only `Authorization` forbids it). It is added
 * to the finished answer: before that, `no-store` is the mark of a secret for Idempotency-Key.
 */
export const privateResponses: MiddlewareHandler = async (c, next) => {
  await next();
  if (c.req.header("upgrade") !== undefined || FOR_ALL.test(c.req.path)) return;
  changeHeaders(c, (headers) => {
    const given = headers.get("cache-control");
    if (given === null) headers.set("cache-control", "private, no-store");
    else if (!/\b(?:private|public|no-store)\b/i.test(given)) headers.set("cache-control", `private, ${given}`);
  });
};
