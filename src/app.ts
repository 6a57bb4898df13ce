/** The HTTP surface: the order of the middleware, the mounts, and one place for errors. */
import { Hono } from "hono";
import { authenticate } from "./access/auth/authenticate.ts";
import { idempotency } from "./access/idempotency/middleware.ts";
import { replayBody, guardBuiltIn, guardUsers, mountApp, userRouteScope } from "./access/users/app.ts";
import type { Settings } from "./config.ts";
import { projectExports } from "./deployment.ts";
import type { App } from "./http/context.ts";
import {
  crossOrigin,
  drainBody,
  hardening,
  identified,
  isDeadLink,
  noRoute,
  notFoundPage,
  plainErrors,
  privateResponses,
} from "./http/middleware.ts";
import { createDoc } from "./http/route.ts";
import { problemResponse, toProblem } from "./lib/problem.ts";
import { MOUNTS, USER_RULES } from "./mounts.ts";
import { namedThreads } from "./protocols/streaming/app-routes.ts";
import { openapi } from "./system/openapi.ts";

/** The app, without what the deployment has switched off. A custom application of the registry must be loaded by now. */
export function createApp({ http }: Pick<Settings, "http">): Hono<App> {
  // Clients join addresses as they like: a slash at the end of a path means nothing.
  const app = new Hono<App>({ strict: false });

  // Without a key a link that leads nowhere is refused before its route is looked for.
  app.onError((error, c) => {
    const isNowhere = isDeadLink(app, c) && userRouteScope(c) === undefined;
    return isNowhere ? notFoundPage(c) : problemResponse(toProblem(error));
  });
  app.notFound(noRoute(app));

  app.use(drainBody, identified, hardening, crossOrigin(http.cors), privateResponses, plainErrors, authenticate);
  app.use("/api/threads/*", namedThreads);
  app.use(guardUsers(USER_RULES), idempotency);
  if (projectExports.app) mountApp(app, projectExports.app);
  app.use(guardBuiltIn);
  if (projectExports.app) app.use(replayBody);

  for (const [path, routes, unless] of MOUNTS) if (!unless || !http[unless]) app.route(path, routes);
  app.get("/openapi.json", createDoc("System")("This description"), openapi(app));
  return app;
}
