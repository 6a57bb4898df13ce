/** Headers of every answer: CORS, and restrictions for browsers. */
import type { Context, MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import { matchedRoutes } from "hono/route";
import type { CorsSettings } from "../config.ts";
import { isSampled, logRequest, requestId } from "../lib/log.ts";

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
export const isLate = ({ headers }: Response): boolean => headers.get("content-encoding") === "identity";

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
    if (!isSampled(c.env.REQUEST_LOG_RATE)) return;
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
