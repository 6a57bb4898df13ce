/** The HTTP surface: middleware order, one `route` per noun, one place for errors. */
import { Hono } from "hono";
import { agentCards } from "./protocols/a2a/card.ts";
import { a2a } from "./protocols/a2a/routes.ts";
import { agui } from "./protocols/agui/routes.ts";
import { alertRoutes } from "./automation/alerts/routes.ts";
import { answers, interruptLinks } from "./threads/interrupts/links/routes.ts";
import { assistants } from "./agents/assistants/routes.ts";
import { auditTrail } from "./access/audit/routes.ts";
import { authenticate } from "./access/auth/authenticate.ts";
import { privateAnswers } from "./http/middleware.ts";
import { auth } from "./access/auth/routes.ts";
import { budgetRoutes } from "./limits/budgets/routes.ts";
import type { Config } from "./config.ts";
import { crons, threadCrons } from "./automation/crons/routes.ts";
import { deploys } from "./system/deploys/routes.ts";
import { encryption } from "./access/encryption/routes.ts";
import { createDoc } from "./http/route.ts";
import { flowRoutes } from "./limits/flow/routes.ts";
import { drainBody } from "./http/middleware.ts";
import { crossOrigin, hardening, identified } from "./http/middleware.ts";
import { bulkExports } from "./exports/routes.ts";
import { isDeadLink, noRoute, notFoundPage } from "./http/middleware.ts";
import { plainErrors } from "./http/middleware.ts";
import { problemResponse, toProblem } from "./lib/problem.ts";
import type { App } from "./http/context.ts";
import { idempotency } from "./access/idempotency/middleware.ts";
import { mcp } from "./protocols/mcp/routes.ts";
import { people } from "./access/members/routes.ts";
import { memory } from "./agents/memory/routes.ts";
import { oauthClients } from "./access/oauth/client-routes.ts";
import { grants } from "./access/oauth/client-routes.ts";
import { oauth } from "./access/oauth/routes.ts";
import { openapi } from "./system/openapi.ts";
import { playgroundRoutes } from "./traces/playground/routes.ts";
import { prompts } from "./agents/prompts/routes.ts";
import { rules } from "./automation/rules/routes.ts";
import { system } from "./system/routes.ts";
import { application } from "./protocols/streaming/app-routes.ts";
import { namedThreads } from "./protocols/streaming/app-routes.ts";
import { streaming } from "./protocols/streaming/routes.ts";
import { activity } from "./threads/api/activity.ts";
import { threads } from "./threads/api/routes.ts";
import { statelessRuns, threadRuns } from "./threads/api/run-routes.ts";
import { refuseUnserved } from "./traces/routes.ts";
import { masking } from "./traces/masking/routes.ts";
import { rootTraces, traces } from "./traces/routes.ts";
import { ui } from "./protocols/ui/routes.ts";
import { bodyAgain, mountApp, userRouteScope } from "./access/users/app.ts";
import { deleteAssistantThreads } from "./threads/api/delete.ts";
import { guardBuiltIn, guardUsers } from "./access/users/app.ts";
import { custom } from "./deployment.ts";
import { webhooks } from "./deliveries/routes.ts";

/** The app, without what the deployment has switched off. A custom application of the registry must be loaded by now. */
export function createApp({ http, flow, budgets }: Config): Hono<App> {
  // Clients join addresses as they like: a slash at the end of a path means nothing.
  const app = new Hono<App>({ strict: false });

  // Without a key a link that leads nowhere is refused before its route is looked for.
  app.onError((error, c) => {
    const isNowhere = isDeadLink(app, c) && userRouteScope(c) === undefined;
    return isNowhere ? notFoundPage(c) : problemResponse(toProblem(error));
  });
  app.notFound(noRoute(app));

  app.use(drainBody, identified, hardening, crossOrigin(http.cors), privateAnswers, plainErrors, authenticate);
  app.use("/api/threads/*", namedThreads);
  app.use(guardUsers, idempotency);
  if (custom.app) mountApp(app, custom.app);
  app.use(guardBuiltIn);
  if (custom.app) app.use(bodyAgain);

  app.route("/", system);
  app.route("/", oauth);
  app.route("/api/v1", auth);
  app.route("/api/v1", people);
  app.route("/api/v1", auditTrail);
  app.route("/api/v1", webhooks);
  app.route("/api/v1", flowRoutes(flow));
  app.route("/api/v1", budgetRoutes(budgets));
  app.route("/api/v1/bulk-exports", bulkExports);
  app.route("/graphs", deploys);
  if (!http.disable_assistants) app.route("/assistants", assistants(deleteAssistantThreads));
  if (!http.disable_threads) app.route("/threads", streaming);
  if (!http.disable_threads) app.route("/threads", threads);
  if (!http.disable_threads) app.route("/threads", interruptLinks);
  if (!http.disable_threads) app.route("/api/v1", answers);
  if (!http.disable_runs) app.route("/threads", threadRuns);
  if (!http.disable_threads) app.route("/api/v1", activity);
  if (!http.disable_threads) app.route("/api/threads", streaming);
  if (!http.disable_threads) app.route("/api/threads", application);
  if (!http.disable_runs) app.route("/api/threads", threadRuns);
  if (!http.disable_runs) app.route("/threads", threadCrons);
  if (!http.disable_runs) app.route("/runs/crons", crons);
  // `/runs/rules` is no id of a run.
  app.route("/", rules);
  app.route("/api/v1", rules);
  // Before the routes that would take a part of such a path for an id, and after those of every run.
  app.use(refuseUnserved);
  // Trace ingest shares two paths with stateless runs, and lets those through.
  app.route("/", rootTraces);
  if (!http.disable_runs) app.route("/runs", statelessRuns);
  if (!http.disable_store) app.route("/store", memory);
  if (!http.disable_mcp) app.route("/mcp", mcp);
  app.route("/api/v1", masking);
  app.route("/api/v1", alertRoutes);
  app.route("/api/v1", playgroundRoutes(budgets));
  app.route("/api/v1", encryption);
  app.route("/api/v1", grants);
  app.route("/api/v1", oauthClients);
  app.route("/", prompts);
  app.route("/api/v1", prompts);
  app.route("/", traces);
  if (!http.disable_a2a) app.route("/", agentCards);
  if (!http.disable_a2a) app.route("/a2a", a2a);
  if (!http.disable_agui) app.route("/agui", agui);
  if (!http.disable_ui) app.route("/ui", ui);
  app.get("/openapi.json", createDoc("System")("This description"), openapi(app));
  return app;
}
