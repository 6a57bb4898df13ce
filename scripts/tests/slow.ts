/**
 * The test files that `npm test` leaves to `npm run test:soak`, each with what covers most of the same in `npm test`. They
 * start servers, browsers or Wrangler again and again, or wait for real time.
 */
export const SLOW: Record<string, string> = {
  "test/soak/**/*.test.ts": "test/cli/dev.test.ts",
  // Projects that are built, installed and deployed.
  "test/cli/deploy-starter.test.ts": "test/cli/deploy.test.ts",
  "test/cli/killed.test.ts": "test/cli/dev.test.ts",
  "test/cli/newcomer.test.ts": "test/cli/doctor.test.ts",
  "test/cli/package.test.ts": "test/cli/dev.test.ts",
  "test/cli/page.test.ts": "test/cli/generate.test.ts",
  "test/compat/schemas.test.ts": "test/cli/dev.test.ts",
  "test/compat/versions.test.ts": "test/compat/bundle.test.ts",
  "test/conformance/a2a-two-agents.test.ts": "test/conformance/a2a.test.ts",
  "test/conformance/bench.test.ts": "test/conformance/server.test.ts",
  "test/conformance/second-deployment.test.ts": "test/conformance/server.test.ts",
  "test/smoke/smoke.test.ts": "test/conformance/server.test.ts",
  // Servers that are killed.
  "test/browser/crash.test.ts": "test/browser/conversation.test.ts",
  "test/crash/a2a.test.ts": "test/a2a/restarts.test.ts",
  "test/crash/effects.test.ts": "test/runtime/idempotency-key.test.ts",
  "test/crash/exports.test.ts": "test/exports/exactly-once.test.ts",
  "test/crash/flow.test.ts": "test/flow/concurrency.test.ts",
  "test/crash/restart.test.ts": "test/crash/runs.test.ts",
  "test/crash/streaming.test.ts": "test/streaming/restarts.test.ts",
  "test/crash/traces.test.ts": "test/crash/runs.test.ts",
  "test/conformance/edge-limits.test.ts": "test/edge-limits/calls.test.ts",
  // Readers that reconnect again and again, and real time.
  "test/conformance/keep-alive.test.ts": "test/threads/first-byte.test.ts",
  "test/conformance/history-memory.test.ts": "test/threads/long.test.ts",
  "test/conformance/readers.test.ts": "test/conformance/disconnect.test.ts",
  // Views of the page whose flows others have in part.
  "test/browser/access.test.ts": "test/browser/consent.test.ts",
  "test/browser/alerts.test.ts": "test/browser/evaluate.test.ts",
  "test/browser/assistants.test.ts": "test/browser/frame.test.ts",
  "test/browser/audit.test.ts": "test/browser/exports.test.ts",
  "test/browser/components.test.ts": "test/browser/looks.test.ts",
  "test/browser/conversation-tabs.test.ts": "test/browser/conversation.test.ts",
  "test/browser/crons.test.ts": "test/browser/exports.test.ts",
  "test/browser/diagrams.test.ts": "test/browser/looks.test.ts",
  "test/browser/experiments.test.ts": "test/browser/overview.test.ts",
  "test/browser/runs.test.ts": "test/browser/frame.test.ts",
  "test/browser/store.test.ts": "test/browser/frame.test.ts",
  "test/browser/threads.test.ts": "test/browser/frame.test.ts",
  "test/browser/traces-list.test.ts": "test/browser/traces.test.ts",
  // Each method, each sample.
  "test/conformance/langsmith-methods.test.ts": "test/conformance/traces.test.ts",
};
