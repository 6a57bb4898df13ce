/**
 * Traces: ingest, queries, projects, feedback. Mounted at `/` and at `/api/v1`, because SDKs append their paths to any
 * configured address; the second generation of queries is at `/api/v2`.
 */
import { Hono } from "hono";
import type { App } from "../http/context.ts";
import { comparativeExperiments, compare } from "./review/experiments/routes.ts";
import { datasetFiles } from "./review/files/routes.ts";
import { platformExamples, examples } from "./review/examples/routes.ts";
import { experimentRows, experimentRowsV2 } from "./review/experiments/run-routes.ts";
import { datasets, datasetVersionRoutes } from "./review/datasets/routes.ts";
import { exampleSearch } from "./review/examples/search.ts";
import { feedbackConfigs, feedback } from "./review/feedback/routes.ts";
import { feedbackTokens } from "./review/feedback/token-routes.ts";
import { ingestRoutes, rootIngestRoutes } from "./ingest/routes.ts";
import { annotationItems, annotationRuns } from "./review/queues/item-routes.ts";
import { annotationQueues } from "./review/queues/routes.ts";
import { otlp } from "./ingest/otlp/routes.ts";
import { projects } from "./projects/routes.ts";
import { attachments } from "./query/attachments.ts";
import { type OnProjectDeleted, runDeletion, runDeletionV2 } from "./delete.ts";
import { messagesV2, threadMessages, threadStats } from "./query/thread-routes.ts";
import { runQueries } from "./query/routes.ts";
import { runQueriesV2 } from "./query/routes-v2.ts";
import { publicShares, publicSharesV2 } from "./review/share/public-routes.ts";
import { shares, sharesV2 } from "./review/share/routes.ts";
import { Problem } from "../lib/problem.ts";

/** The routes that are served both at `/` and below `/api/v1`. */
const shared = (onProjectDeleted: OnProjectDeleted) =>
  new Hono<App>()
    .route("/", threadMessages)
    .route("/", runQueries)
    .route("/", runDeletion)
    .route("/", projects(onProjectDeleted))
    .route("/", feedbackTokens)
    .route("/", feedback)
    .route("/", feedbackConfigs)
    .route("/", datasetFiles)
    .route("/", exampleSearch)
    .route("/", datasets)
    .route("/", datasetVersionRoutes)
    .route("/", comparativeExperiments)
    .route("/", compare)
    .route("/", experimentRows)
    .route("/", examples)
    .route("/", annotationQueues)
    .route("/", annotationRuns)
    .route("/", shares)
    .route("/", publicShares)
    .route("/", otlp);

/**
 * At the root: it has two paths of the Agent Server's, and passes those requests on, so it is mounted before `/runs`.
 */
export const rootTraces = (onProjectDeleted: OnProjectDeleted) =>
  new Hono<App>().route("/", rootIngestRoutes()).route("/", shared(onProjectDeleted));

/** Everything with a prefix of its own. */
export const traces = (onProjectDeleted: OnProjectDeleted) =>
  new Hono<App>()
    .route("/", attachments)
    .route("/api/v1", ingestRoutes())
    .route("/api/v1", shared(onProjectDeleted))
    // The SDKs put `/v1` before a platform path unless their address ends with it.
    .route("/v1/platform", platformExamples)
    .route("/api/v1/platform", platformExamples)
    .route("/v1/platform", annotationItems)
    .route("/api/v1/platform", annotationItems)
    .route("/api/v2", runQueriesV2)
    .route("/api/v2", messagesV2)
    .route("/api/v2", threadStats)
    .route("/api/v2", experimentRowsV2)
    .route("/api/v2", runDeletionV2)
    .route("/api/v2", sharesV2)
    .route("/api/v2", publicSharesV2);

// Calls of LangSmith's clients that this server does not serve. docs/experiments.md lists all of their calls.

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
export const unserved = new Hono<App>().use(async (c, next) => {
  const reason = findReason(c.req.method, c.req.path);
  if (reason !== undefined) throw new Problem(501, reason);
  await next();
});

// The part of `/info` for the tracing SDKs: how to send runs to this server.

export const INGEST_INFO = {
  git_sha: null,
  license_expiration_time: null,
  customer_info: null,
  batch_ingest_config: {
    use_multipart_endpoint: true,
    scale_up_qsize_trigger: 1000,
    scale_up_nthreads_limit: 16,
    scale_down_nempty_trigger: 4,
    /** Operations and decoded bytes of one request. */
    size_limit: 100,
    size_limit_bytes: 20_971_520,
  },
  instance_flags: {
    gzip_body_enabled: true,
    zstd_compression_enabled: true,
    dataset_examples_multipart_enabled: true,
  },
} as const;

/** The version whose calls the SDKs may make. They warn of an older one. */
export const INGEST_API_VERSION = "0.18.0";
