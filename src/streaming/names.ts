/** Names of threads on the application's routes: a client may choose any name instead of a UUID. */
import type { MiddlewareHandler } from "hono";
import { deriveThreadId } from "../threads/types.ts";
import { Problem } from "../lib/problem.ts";
import type { App } from "../http/context.ts";
import { isUuid } from "../lib/uuid.ts";

/** URL-safe characters (RFC 3986, unreserved). */
const NAME = /^[\w.~-]{1,255}$/;

/**
 * Reads the name in `/api/threads/{name}` as the id of its thread: the same each time, and a user's own. A2A reads a
 * `contextId` in the same way, so both lead to one thread.
 */
export const namedThreads: MiddlewareHandler<App> = async (c, next) => {
  const name = /^\/api\/threads\/([^/]+)/.exec(c.req.path)?.[1];
  if (name !== undefined && !isUuid(name)) {
    if (!NAME.test(name)) throw new Problem(422, "A thread's id has up to 255 letters, digits and -._~ characters.");
    c.set("threadId", deriveThreadId(name, c.get("principal").user?.identity));
  }
  await next();
};
