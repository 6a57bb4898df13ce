/** No cache keeps an answer that a credential, a link or a cookie opened. */
import type { MiddlewareHandler } from "hono";
import { changeHeaders } from "../http/middleware.ts";

/** What anyone may read without any credential, by the same bytes: a cache may keep it. */
const FOR_ALL =
  /^\/(?:ok|info|api\/v1\/info|openapi\.json|(?:a2a\/[^/]+\/|mcp\/|agui\/[^/]+\/)?\.well-known\/.*|ui\/[^/]+\/entrypoint\.(?:js|css))$/;

/**
 * `Cache-Control: private, no-store` where a route says nothing, and `private` where it says something else: a shared cache
 * stores answers to requests with `X-API-Key` otherwise (RFC 9111, section 3: only `Authorization` forbids it). It is added
 * to the finished answer: before that, `no-store` is the mark of a secret for Idempotency-Key.
 */
export const privateAnswers: MiddlewareHandler = async (c, next) => {
  await next();
  if (c.req.header("upgrade") !== undefined || FOR_ALL.test(c.req.path)) return;
  changeHeaders(c, (headers) => {
    const given = headers.get("cache-control");
    if (given === null) headers.set("cache-control", "private, no-store");
    else if (!/\b(?:private|public|no-store)\b/i.test(given)) headers.set("cache-control", `private, ${given}`);
  });
};
