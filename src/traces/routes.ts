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
import { type DeletionHooks, runDeletion, runDeletionV2 } from "./delete.ts";
import { messagesV2, threadMessages, threadStats } from "./query/thread-routes.ts";
import { runQueriesV1 } from "./query/routes-v1.ts";
import { runQueriesV2 } from "./query/routes-v2.ts";
import { publicShares, publicSharesV2 } from "./review/share/public-routes.ts";
import { shares, sharesV2 } from "./review/share/routes.ts";

/** The routes that are served both at `/` and below `/api/v1`. */
const shared = (hooks: DeletionHooks) =>
  new Hono<App>()
    .route("/", threadMessages)
    .route("/", runQueriesV1)
    .route("/", runDeletion(hooks))
    .route("/", projects(hooks))
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
export const rootTraces = (hooks: DeletionHooks) =>
  new Hono<App>().route("/", rootIngestRoutes()).route("/", shared(hooks));

/** Everything with a prefix of its own. */
export const traces = (hooks: DeletionHooks) =>
  new Hono<App>()
    .route("/", attachments)
    .route("/api/v1", ingestRoutes())
    .route("/api/v1", shared(hooks))
    // The SDKs put `/v1` before a platform path unless their address ends with it.
    .route("/v1/platform", platformExamples)
    .route("/api/v1/platform", platformExamples)
    .route("/v1/platform", annotationItems)
    .route("/api/v1/platform", annotationItems)
    .route("/api/v2", runQueriesV2)
    .route("/api/v2", messagesV2)
    .route("/api/v2", threadStats)
    .route("/api/v2", experimentRowsV2)
    .route("/api/v2", runDeletionV2(hooks))
    .route("/api/v2", sharesV2)
    .route("/api/v2", publicSharesV2);
