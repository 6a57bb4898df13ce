/**
 * The table of mounts: where the routes of each noun are, and what ends with what. The first route that matches a request answers
 * it, so the order is part of the API.
 */
import type { Hono } from "hono";
import { agentCards } from "./protocols/a2a/card.ts";
import { a2a } from "./protocols/a2a/routes.ts";
import { agui } from "./protocols/agui/routes.ts";
import { alertRoutes } from "./automation/alerts/routes.ts";
import { responseLinks, interruptLinks } from "./threads/interrupts/links/routes.ts";
import { assistants } from "./agents/assistants/routes.ts";
import { auditTrail } from "./access/audit/routes.ts";
import { auth } from "./access/auth/routes.ts";
import { budgetRoutes } from "./limits/budgets/routes.ts";
import { crons, threadCrons } from "./automation/crons/routes.ts";
import { deploys } from "./system/deploys/routes.ts";
import { encryption } from "./access/encryption/routes.ts";
import { flowRoutes } from "./limits/flow/routes.ts";
import { isScheduled } from "./exports/finish.ts";
import { bulkExports } from "./exports/routes.ts";
import { mcp } from "./protocols/mcp/routes.ts";
import { people } from "./access/members/routes.ts";
import { memory } from "./agents/memory/routes.ts";
import { oauthClients, grants } from "./access/oauth/client-routes.ts";
import { oauth } from "./access/oauth/routes.ts";
import { playgroundRoutes } from "./traces/playground/routes.ts";
import { prompts } from "./agents/prompts/routes.ts";
import { rules } from "./automation/rules/routes.ts";
import { system } from "./system/routes.ts";
import { application } from "./protocols/streaming/app-routes.ts";
import { streaming } from "./protocols/streaming/routes.ts";
import { activity } from "./threads/api/activity.ts";
import { threads } from "./threads/api/routes.ts";
import { statelessRuns, threadRuns } from "./threads/api/run-routes.ts";
import { masking } from "./traces/masking/routes.ts";
import { rootTraces, traces } from "./traces/routes.ts";
import { unservedRoutes } from "./traces/unserved.ts";
import { ui } from "./protocols/ui/routes.ts";
import { webhooks } from "./deliveries/routes.ts";
import { deleteAssistantThreads } from "./threads/api/delete.ts";
import type { Settings } from "./config.ts";
import type { App } from "./http/context.ts";
import type { UserRules } from "./access/users/app.ts";
import {
  about,
  ASSISTANTS,
  authorizeCopy,
  cancels,
  creates,
  joins,
  joinsStream,
  prunes,
  requireOwner,
  searches,
  startsBatch,
  startsRun,
  THREADS,
} from "./threads/api/user-rules.ts";
import { createsCron, CRONS, listsFirings } from "./automation/crons/user-rules.ts";
import { deleteCronsOfAssistant, deleteCronsOn } from "./automation/crons/store.ts";
import { deleteFailuresOnTraces, deleteRulesOfProject } from "./automation/rules/store.ts";

/** A switch of `http` in langgraph.json that leaves routes out. */
type Switch = Extract<keyof Settings["http"], `disable_${string}`>;

type Mount = readonly [path: string, routes: Hono<App>, unless?: Switch];

const ofThreads = threads(deleteCronsOn);
const ofAssistants = assistants({
  deleteThreads: (env, principal, id) => deleteAssistantThreads(env, principal, id, deleteCronsOn),
  onDeleted: deleteCronsOfAssistant,
});

const deletionHooks = {
  onProjectDeleted: deleteRulesOfProject,
  onTracesDeleted: deleteFailuresOnTraces,
  isListed: isScheduled,
};

/** The routes that come before those of traces. */
export const MOUNTS: readonly Mount[] = [
  ["/", system],
  ["/", oauth],
  ["/api/v1", auth],
  ["/api/v1", people],
  ["/api/v1", auditTrail],
  ["/api/v1", webhooks],
  ["/api/v1", flowRoutes],
  ["/api/v1", budgetRoutes],
  ["/api/v1/bulk-exports", bulkExports],
  ["/graphs", deploys],
  ["/assistants", ofAssistants, "disable_assistants"],
  ["/threads", streaming, "disable_threads"],
  ["/threads", ofThreads, "disable_threads"],
  ["/threads", interruptLinks, "disable_threads"],
  ["/api/v1", responseLinks, "disable_threads"],
  ["/threads", threadRuns, "disable_runs"],
  ["/api/v1", activity, "disable_threads"],
  ["/api/threads", streaming, "disable_threads"],
  ["/api/threads", application, "disable_threads"],
  ["/api/threads", threadRuns, "disable_runs"],
  ["/threads", threadCrons, "disable_runs"],
  ["/runs/crons", crons, "disable_runs"],
  // `/runs/rules` is no id of a run.
  ["/", rules],
  ["/api/v1", rules],
  // The calls that are not served come before the routes that would take a part of such a path for an id.
  ["/", unservedRoutes],
  // `/sessions`, `/runs`, `/feedback`, `/datasets` and the others of traces. Ingest shares two paths with stateless runs, and lets those
  // through.
  ["/", rootTraces(deletionHooks)],
  // Runs without a thread; traced runs are above.
  ["/runs", statelessRuns, "disable_runs"],
  ["/store", memory, "disable_store"],
  ["/mcp", mcp, "disable_mcp"],
  ["/api/v1", masking],
  ["/api/v1", alertRoutes],
  ["/api/v1", playgroundRoutes],
  ["/api/v1", encryption],
  ["/api/v1", grants],
  ["/api/v1", oauthClients],
  ["/", prompts],
  ["/api/v1", prompts],
  ["/", traces(deletionHooks)],
  ["/", agentCards, "disable_a2a"],
  ["/a2a", a2a, "disable_a2a"],
  ["/agui", agui, "disable_agui"],
  ["/ui", ui, "disable_ui"],
];

/** What the `Auth` of a project is asked about a user's request. A route without a row is not for users. */
export const USER_RULES: UserRules = [
  ["POST", /^\/assistants$/, creates(ASSISTANTS)],
  ["POST", /^\/assistants\/(search|count)$/, searches(ASSISTANTS)],
  ["GET", /^\/assistants\/([^/]+)(?:\/.*)?$/, about(ASSISTANTS, "read")],
  ["POST", /^\/assistants\/([^/]+)\/versions$/, about(ASSISTANTS, "read")],
  ["POST", /^\/assistants\/([^/]+)\/latest$/, about(ASSISTANTS, "update")],
  ["PATCH", /^\/assistants\/([^/]+)$/, about(ASSISTANTS, "update")],
  ["DELETE", /^\/assistants\/([^/]+)$/, about(ASSISTANTS, "delete")],

  ["POST", /^\/threads$/, creates(THREADS)],
  ["POST", /^\/threads\/(search|count)$/, searches(THREADS)],
  ["POST", /^\/threads\/prune$/, prunes],
  ["POST", /^\/(?:api\/)?threads\/([^/]+)\/runs\/crons$/, createsCron],
  ["POST", /^\/(?:api\/)?threads\/([^/]+)\/runs(?:\/stream|\/wait)?$/, startsRun],
  ["POST", /^\/(?:api\/)?threads\/([^/]+)\/runs\/[^/]+\/cancel$/, about(THREADS, "update")],
  ["POST", /^\/(?:api\/)?threads\/([^/]+)\/(?:history|state\/checkpoint)$/, about(THREADS, "read")],
  ["POST", /^\/(?:api\/)?threads\/([^/]+)\/copy$/, authorizeCopy],
  ["POST", /^\/(?:api\/)?threads\/([^/]+)\/state$/, about(THREADS, "update")],
  ["PATCH", /^\/(?:api\/)?threads\/([^/]+)(?:\/state)?$/, about(THREADS, "update")],
  ["DELETE", /^\/(?:api\/)?threads\/([^/]+)(?:\/runs\/[^/]+)?$/, about(THREADS, "delete")],

  ["POST", /^\/threads\/([^/]+)\/interrupts\/[^/]+\/links$/, about(THREADS, "create_run")],
  ["DELETE", /^\/threads\/([^/]+)\/interrupts\/[^/]+\/links\/[^/]+$/, about(THREADS, "create_run")],
  ["POST", /^\/(?:api\/)?threads\/([^/]+)\/commands$/, requireOwner("read")],
  ["POST", /^\/(?:api\/)?threads\/([^/]+)\/stream(?:\/events)?$/, requireOwner("read")],
  ["SOCKET", /^\/(?:api\/)?threads\/([^/]+)\/stream\/events$/, requireOwner("create_run")],
  ["POST", /^\/api\/threads\/([^/]+)\/state$/, requireOwner("update")],
  ["POST", /^\/api\/threads\/([^/]+)\/history$/, about(THREADS, "read")],
  ["DELETE", /^\/api\/threads\/([^/]+)$/, about(THREADS, "delete")],
  ["GET", /^\/(?:api\/)?threads\/([^/]+)\/runs\/[^/]+\/stream$/, joinsStream],
  ["GET", /^\/(?:api\/)?threads\/([^/]+)(?:\/.*)?$/, about(THREADS, "read")],

  ["POST", /^\/runs\/crons$/, createsCron],
  ["POST", /^\/runs\/crons\/(search|count)$/, searches(CRONS)],
  ["POST", /^\/runs\/crons\/firings$/, listsFirings],
  ["GET", /^\/runs\/crons\/([^/]+)$/, about(CRONS, "read")],
  ["PATCH", /^\/runs\/crons\/([^/]+)$/, about(CRONS, "update")],
  ["DELETE", /^\/runs\/crons\/([^/]+)$/, about(CRONS, "delete")],
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
