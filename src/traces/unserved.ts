/** Calls of LangSmith's clients that this server does not serve. docs/experiments.md lists all of their calls. */
import { Hono } from "hono";
import type { App } from "../http/context.ts";
import { Problem } from "../lib/problem.ts";

const ROOT = "^(?:/api)?(?:/v1)?(?:/platform)?";
const V2 = "^(?:/api)?/v2";
const UUID = "[0-9a-f-]{36}";

const TABLE: [method: string | undefined, path: RegExp, what: string][] = [
  [
    "POST",
    new RegExp(`${ROOT}/annotation-queues/${UUID}/export$`, "i"),
    "annotation queues as files. List the runs with status=completed",
  ],
  [
    undefined,
    new RegExp(`${ROOT}/(?:prompt-webhooks|hub|comments|repos/[^/]+/[^/]+/fork)(?:/|$)`),
    "agents, skills, and webhooks, comments and forks of prompts",
  ],
  [undefined, /^\/api\/v1\/agents(?:\/|$)/, "agents and skills"],
  [
    undefined,
    new RegExp(`${ROOT}/(?:evaluators|feedback-formulas|runs/rules/decision-models)(?:/|$)`),
    "evaluators apart from rules. Rules of /runs/rules hold them",
  ],
  [undefined, new RegExp(`${ROOT}/(?:issues|product-feedbacks|fleet)(?:/|$)`), "issues and fleets"],
  ["POST", new RegExp(`${ROOT}/datasets/upload-experiment$`), "experiments as files. Send their runs"],
  ["POST", new RegExp(`${ROOT}/examples/multipart$`), "/examples/multipart. Send examples to /datasets/{id}/examples"],
  ["POST", new RegExp(`${ROOT}/runs/generate-query$`), "filters made by a model"],
  ["POST", new RegExp(`${ROOT}/runs/group/stats$`), "statistics of all threads together. Read /runs/stats"],
  [undefined, new RegExp(`${ROOT}/model-price-map(?:/|$)`), "a map of prices. TRACE_PRICES sets them"],
  [undefined, new RegExp(`${ROOT}/(?:charts|filter-views)(?:/|$)`), "dashboards"],
  [
    undefined,
    new RegExp(`${ROOT}/sessions/${UUID}/(?:metadata|views)(?:/|$)`, "i"),
    "lists of metadata and saved views",
  ],
  [undefined, new RegExp(`${ROOT}/(?:orgs|tenants|ttl-settings|usage-limits|me|service-keys)(?:/|$)`), "organizations"],
  [undefined, new RegExp(`${ROOT}/(?:tags|tag-keys)(?:/|$)`), "tags of projects and datasets"],
  [undefined, new RegExp(`${ROOT}/workspaces/current(?:/|$)`), "settings and secrets of a workspace"],
  ["POST", new RegExp(`${ROOT}/datasets/${UUID}/generate$`, "i"), "examples made by a model"],
  [undefined, new RegExp(`${ROOT}/sessions/${UUID}/dashboard$`, "i"), "dashboards"],
  [undefined, new RegExp(`${ROOT}/sessions/${UUID}/insights(?:/|$)`, "i"), "reports of insights"],
  [undefined, new RegExp(`${ROOT}/public/${UUID}/datasets/.`, "i"), "the experiments of a shared dataset"],
  [undefined, new RegExp(`${V2}/(?:datasets|sessions)$`), "the second generation of datasets and sessions"],
  [undefined, new RegExp(`${V2}/runs/${UUID}/url$`, "i"), "addresses of runs"],
  [undefined, new RegExp(`${V2}/threads/[^/]+/share$`), "links of threads"],
  [undefined, new RegExp(`${V2}/(?:sandboxes|sql)(?:/|$)`), "sandboxes and SQL"],
];

function findReason(method: string, path: string): string | undefined {
  const row = TABLE.find(([only, pattern]) => (only === undefined || only === method) && pattern.test(path));
  return row && `Weir does not serve ${row[2]}. docs/experiments.md lists the calls that it serves.`;
}

/** Answers these calls with 501. It comes before the routes of traces, which would take a part of such a path for an id. */
export const unservedRoutes = new Hono<App>().use(async (c, next) => {
  const reason = findReason(c.req.method, c.req.path);
  if (reason !== undefined) throw new Problem(501, reason);
  await next();
});
