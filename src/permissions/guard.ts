/**
 * What a user of the deployment's own `Auth` may do, as ONE table over the agent server's routes: each row asks the
 * handler of an event and narrows the request by its answer. A route without a row is not for users.
 */
import type { MiddlewareHandler } from "hono";
import { Problem } from "../lib/problem.ts";
import type { App } from "../http/context.ts";
import { isForApp } from "../http/loopback.ts";
import { userRouteScope } from "../access/users/app.ts";
import { Call } from "./call.ts";
import {
  about,
  cancels,
  authorizeCopy,
  creates,
  createsCron,
  joins,
  joinsStream,
  listsFirings,
  requireOwner,
  prunes,
  type Rule,
  searches,
  startsBatch,
  startsRun,
} from "../threads/api/user-rules.ts";

type Row = [methods: string, path: RegExp, rule: Rule];

const TABLE: Row[] = [
  ["POST", /^\/assistants$/, creates("assistants", "assistant_id", "assistant")],
  ["POST", /^\/assistants\/(search|count)$/, searches("assistants")],
  ["GET", /^\/assistants\/([^/]+)(?:\/.*)?$/, about("assistants", "read")],
  ["POST", /^\/assistants\/([^/]+)\/versions$/, about("assistants", "read")],
  ["POST", /^\/assistants\/([^/]+)\/latest$/, about("assistants", "update")],
  ["PATCH", /^\/assistants\/([^/]+)$/, about("assistants", "update")],
  ["DELETE", /^\/assistants\/([^/]+)$/, about("assistants", "delete")],

  ["POST", /^\/threads$/, creates("threads", "thread_id", "thread")],
  ["POST", /^\/threads\/(search|count)$/, searches("threads")],
  ["POST", /^\/threads\/prune$/, prunes],
  ["POST", /^\/(?:api\/)?threads\/([^/]+)\/runs\/crons$/, createsCron],
  ["POST", /^\/(?:api\/)?threads\/([^/]+)\/runs(?:\/stream|\/wait)?$/, startsRun],
  ["POST", /^\/(?:api\/)?threads\/([^/]+)\/runs\/[^/]+\/cancel$/, about("threads", "update")],
  ["POST", /^\/(?:api\/)?threads\/([^/]+)\/(?:history|state\/checkpoint)$/, about("threads", "read")],
  ["POST", /^\/(?:api\/)?threads\/([^/]+)\/copy$/, authorizeCopy],
  ["POST", /^\/(?:api\/)?threads\/([^/]+)\/state$/, about("threads", "update")],
  ["PATCH", /^\/(?:api\/)?threads\/([^/]+)(?:\/state)?$/, about("threads", "update")],
  ["DELETE", /^\/(?:api\/)?threads\/([^/]+)(?:\/runs\/[^/]+)?$/, about("threads", "delete")],

  ["POST", /^\/threads\/([^/]+)\/interrupts\/[^/]+\/links$/, about("threads", "create_run")],
  ["DELETE", /^\/threads\/([^/]+)\/interrupts\/[^/]+\/links\/[^/]+$/, about("threads", "create_run")],
  ["POST", /^\/(?:api\/)?threads\/([^/]+)\/commands$/, requireOwner("read")],
  ["POST", /^\/(?:api\/)?threads\/([^/]+)\/stream(?:\/events)?$/, requireOwner("read")],
  ["SOCKET", /^\/(?:api\/)?threads\/([^/]+)\/stream\/events$/, requireOwner("create_run")],
  ["POST", /^\/api\/threads\/([^/]+)\/state$/, requireOwner("update")],
  ["POST", /^\/api\/threads\/([^/]+)\/history$/, about("threads", "read")],
  ["DELETE", /^\/api\/threads\/([^/]+)$/, about("threads", "delete")],
  ["GET", /^\/(?:api\/)?threads\/([^/]+)\/runs\/[^/]+\/stream$/, joinsStream],
  ["GET", /^\/(?:api\/)?threads\/([^/]+)(?:\/.*)?$/, about("threads", "read")],

  ["POST", /^\/runs\/crons$/, createsCron],
  ["POST", /^\/runs\/crons\/(search|count)$/, searches("crons")],
  ["POST", /^\/runs\/crons\/firings$/, listsFirings],
  ["GET", /^\/runs\/crons\/([^/]+)$/, about("crons", "read")],
  ["PATCH", /^\/runs\/crons\/([^/]+)$/, about("crons", "update")],
  ["DELETE", /^\/runs\/crons\/([^/]+)$/, about("crons", "delete")],
  ["POST", /^\/runs(?:\/stream|\/wait)?$/, startsRun],
  ["POST", /^\/runs\/batch$/, startsBatch],
  ["POST", /^\/runs\/cancel$/, cancels],
  ["GET", /^\/runs\/([^/]+)\/(?:stream|join)$/, joins],

  // These ask the handlers themselves.
  ["*", /^\/store\/(?:items(?:\/search)?|namespaces)$/, async () => {}],
  ["GET", /^\/api\/threads$/, async () => {}],
  // A graph has the same components for all users.
  ["POST", /^\/ui\/[^/]+\/?$/, async () => {}],
  ["*", /^\/mcp$/, async () => {}],
  ["POST", /^\/(?:a2a\/[^/]+|agui\/[^/]+(?:\/connect)?)\/?$/, async () => {}],
];

const refuseUsers = () => new Problem(403, "This call is not for users of this deployment.");

/** Lets a user's request through, narrowed to what the user may see. Other callers pass untouched. */
export const guardUsers: MiddlewareHandler<App> = async (c, next) => {
  if (isForApp(c.req.raw)) c.set("appOnly", true);
  const principal = c.get("principal") as App["Variables"]["principal"] | undefined;
  if (!principal?.user) return next();
  const { method, path } = c.req;
  const verb = c.req.header("upgrade") === undefined ? method : "SOCKET";
  const row = TABLE.find(([methods, pattern]) => (methods === "*" || methods === verb) && pattern.test(path));
  if (!row && !userRouteScope(c)) throw refuseUsers();
  if (!row) {
    c.set("appOnly", true);
    return next();
  }
  const [id, ...others] = row[1].exec(path)?.slice(1) ?? [];
  const ids = id === undefined ? [] : [c.get("threadId") ?? id, ...others];
  const answer = await row[2](new Call(c, ids.map(decodePart)));
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
