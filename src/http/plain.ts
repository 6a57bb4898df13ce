/** Errors as plain sentences, for clients that accept text and no JSON. */
import type { MiddlewareHandler } from "hono";
import type { App } from "./context.ts";

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
