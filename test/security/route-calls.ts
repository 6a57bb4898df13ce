/**
 * A call of each route that succeeds for the owner of the things it names. A route without a line here is called without a
 * body: if it needs one, the test of the owner fails.
 */
import type { Json, Things } from "./things.ts";

const said = { messages: [{ role: "user", content: "hi" }] };
const times = { start_time: "2026-01-01T00:00:00Z" };

/** Bodies by the path below `/api/v1`, `/api/v2` and `/api`. A function makes one from the things. */
const BODIES: Record<string, (things: Things) => unknown> = {
  "POST /a2a/:assistant_id": ({ task_id }) => ({ jsonrpc: "2.0", id: 1, method: "GetTask", params: { id: task_id } }),
  "POST /agui/:assistant_id": userSays,
  "POST /agui/:assistant_id/connect": userSays,
  "POST /threads/:thread_id/commands": () => ({ id: 1, method: "state.get", params: {} }),
  "POST /threads/:thread_id/stream": () => ({ channels: ["values", "messages", "lifecycle"] }),
  "POST /threads/:thread_id/stream/events": () => ({ channels: ["values", "messages", "lifecycle"] }),
  "POST /threads/:thread_id/runs": run,
  "POST /threads/:thread_id/runs/wait": run,
  "POST /threads/:thread_id/runs/stream": run,
  "POST /threads/:thread_id/runs/crons": (things) => ({ ...run(things), schedule: "0 0 1 1 *" }),
  "POST /threads/:thread_id/state": () => ({ values: said, as_node: "echo" }),
  "PATCH /threads/:thread_id/state": () => ({ metadata: { seen: true } }),
  "POST /threads/:thread_id/state/checkpoint": ({ checkpoint_id }) => ({ checkpoint: { checkpoint_id } }),
  "PATCH /threads/:thread_id": () => ({ metadata: { seen: true } }),
  "POST /threads/prune": ({ thread_id }) => ({ thread_ids: [thread_id], strategy: "keep_latest" }),
  "POST /runs": run,
  "POST /runs/wait": run,
  "POST /runs/stream": run,
  "POST /runs/batch": (things) => [run(things)],
  "POST /runs/cancel": ({ thread_id, run_id }) => ({ thread_id, run_ids: [run_id] }),
  "POST /runs/crons": (things) => ({ ...run(things), schedule: "0 0 1 1 *" }),
  "POST /runs/crons/firings": ({ cron_id }) => ({ cron_ids: [cron_id] }),
  "PATCH /runs/crons/:cron_id": () => ({ metadata: { seen: true } }),
  "POST /assistants": () => ({ graph_id: "echo" }),
  "PATCH /assistants/:assistant_id": () => ({ metadata: { seen: true } }),
  "POST /assistants/:assistant_id/latest": () => ({ version: 1 }),
  "PUT /store/items": ({ marker }) => ({ namespace: ["other"], key: "k", value: { own: marker.length } }),
  "DELETE /store/items": ({ marker }) => ({ namespace: [marker, "notes"], key: marker }),
  "POST /store/items/search": () => ({ namespace_prefix: [] }),
  "POST /ui/:assistant_id": () => ({ name: "weather" }),
  "POST /mcp": () => ({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
  "POST /mcp/traces": ({ thread_id }) => ({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "read_thread", arguments: { thread_id } },
  }),

  "PUT /roles/:name": () => ({ permissions: ["traces.read"] }),
  "PUT /budgets/:budget_id": () => ({ per: "run", dollars: 1_000 }),
  "PUT /prices": () => ({ prices: [] }),
  "PUT /flow/rules/:rule_id": () => ({ concurrency: 1_000 }),
  "PUT /masking-rules": () => ({ rules: [{ type: "set", set: "iban" }] }),
  "POST /masking-rules/preview": () => ({ rules: [{ type: "set", set: "email" }] }),
  "POST /encryption-keys/:id/destroy": () => ({ confirm: NO_KEY }),
  "POST /api-keys": () => ({ name: "another" }),
  "PATCH /api-keys/:id": () => ({ name: "renamed" }),
  "POST /members": () => ({ subject: crypto.randomUUID(), role: "viewer" }),
  "PATCH /members/:id": () => ({ role: "developer" }),
  "POST /invitations": () => ({ role: "viewer" }),
  "POST /bulk-exports": ({ destination_id, project_id }) => ({
    bulk_export_destination_id: destination_id,
    session_id: project_id,
    start_time: "2090-01-01T00:00:00Z",
    interval_hours: 24,
  }),
  "PATCH /bulk-exports/:id": () => ({ status: "CANCELLED" }),
  "POST /bulk-exports/destinations": () => ({ destination_type: "r2", display_name: "d", config: { prefix: "p" } }),
  "PATCH /bulk-exports/destinations/:id": () => ({
    credentials: { access_key_id: "a", secret_access_key: "s" },
  }),
  "POST /datasets": () => ({ name: crypto.randomUUID() }),
  "PATCH /datasets/:dataset_id": () => ({ description: "seen" }),
  "POST /datasets/comparative": ({ dataset_id, experiment_id }) => ({
    name: "again",
    reference_dataset_id: dataset_id,
    experiment_ids: [experiment_id],
  }),
  "POST /datasets/:dataset_id/runs": ({ experiment_id }) => ({ session_ids: [experiment_id] }),
  "POST /datasets/:dataset_id/experiment-runs": ({ experiment_id }) => ({ experiment_ids: [experiment_id] }),
  "POST /datasets/:dataset_id/search": ({ marker }) => ({ inputs: { marker } }),
  "POST /datasets/clone": ({ dataset_id }) => ({ source_dataset_id: dataset_id, target_dataset_id: dataset_id }),
  "PUT /datasets/:dataset_id/splits": ({ example_id }) => ({ split_name: "seen", examples: [example_id] }),
  "PUT /datasets/:dataset_id/tags": () => ({ as_of: "latest", tag: "seen" }),
  "POST /examples": ({ dataset_id }) => ({ dataset_id, inputs: {} }),
  "POST /examples/bulk": ({ dataset_id }) => [{ dataset_id, inputs: {} }],
  "PATCH /examples/bulk": ({ example_id }) => [{ id: example_id, outputs: {} }],
  "PATCH /examples/:example_id": () => ({ outputs: {} }),
  "POST /platform/datasets/examples/delete": () => ({ example_ids: [crypto.randomUUID()], hard_delete: true }),
  "PATCH /platform/datasets/:dataset_id/examples/metadata": ({ example_id }) => ({
    example_ids: [example_id],
    operations: [{ key: "seen", operation: "SET", value: true }],
  }),
  "POST /alerts": newAlert,
  "PUT /alerts/:alert_id": newAlert,
  "POST /runs/rules": newRule,
  "PATCH /runs/rules/:rule_id": newRule,
  "POST /runs/rules/:rule_id/backfills": () => ({ start_time: "2026-01-01T00:00:00Z" }),
  "POST /annotation-queues": () => ({ name: "another" }),
  "PATCH /annotation-queues/:queue_id": () => ({ description: "seen" }),
  "POST /annotation-queues/populate": ({ queue_id, experiment_id }) => ({ queue_id, session_ids: [experiment_id] }),
  "POST /annotation-queues/:queue_id/runs": ({ trace_run_id }) => [trace_run_id],
  "POST /annotation-queues/:queue_id/runs/by-key": ({ trace_run_id, project_id }) => [
    { run_id: trace_run_id, session_id: project_id, start_time: "2026-01-02T12:00:00Z" },
  ],
  "POST /annotation-queues/:queue_id/runs/delete": () => ({ run_ids: [crypto.randomUUID()] }),
  "POST /annotation-queues/status/:item_id": () => ({ status: "viewed" }),
  "POST /platform/annotation-queues/:queue_id/items": ({ trace_run_id }) => ({ items: [{ run_id: trace_run_id }] }),
  "POST /platform/annotation-queues/:queue_id/items/delete": () => ({ item_ids: [crypto.randomUUID()] }),
  "POST /platform/annotation-queues/items/:item_id/status": () => ({ status: "viewed" }),
  "POST /playground/stream": () => ({
    model: { provider: "offline" },
    messages: [{ role: "human", content: "count to 2" }],
  }),
  "POST /repos": () => ({ repo_handle: `p-${crypto.randomUUID()}` }),
  "PATCH /repos/:owner/:repo": () => ({ tags: ["seen"] }),
  "POST /repos/:owner/:repo/tags": () => ({ tag_name: "prod", commit_id: "latest" }),
  "PATCH /repos/:owner/:repo/tags/:tag_name": () => ({ commit_id: "latest" }),
  "POST /commits/:owner/:repo": () => ({ manifest: { template: crypto.randomUUID() }, parent_commit: "latest" }),
  "POST /likes/:owner/:repo": () => ({ like: true }),
  "POST /feedback": ({ trace_run_id }) => ({ run_id: trace_run_id, key: "liked", score: 1 }),
  "POST /feedback/eager": ({ trace_run_id }) => ({ run_id: trace_run_id, key: "liked", score: 1 }),
  "PATCH /feedback/:feedback_id": () => ({ score: 0 }),
  "POST /feedback-configs": () => ({ feedback_key: crypto.randomUUID(), feedback_config: { type: "freeform" } }),
  "PATCH /feedback-configs": ({ marker }) => ({ feedback_key: marker, is_lower_score_better: true }),
  "POST /feedback/tokens": ({ trace_run_id }) => ({ run_id: trace_run_id, feedback_key: "liked" }),
  "PATCH /runs/:run_id": ({ trace_run_id }) => ({
    id: trace_run_id,
    trace_id: trace_run_id,
    dotted_order: `20260102T120000000000Z${trace_run_id}`,
    tags: ["seen"],
  }),
  "POST /runs/stats/series": ({ project_id }) => ({ session: [project_id], ...times, interval: "day" }),
  "POST /runs/delete": ({ project_id }) => ({ session_id: project_id, trace_ids: [crypto.randomUUID()] }),
  "POST /runs/group": ({ project_id }) => ({ session_id: project_id, group_by: "conversation", ...times }),
  "POST /runs/query/validate": () => ({ filter: 'eq(name, "x")' }),
  "POST /sessions": () => ({ name: crypto.randomUUID() }),
  "PATCH /sessions/:session_id": () => ({ description: "seen" }),
  "POST /graphs/check": () => ({ graphs: {} }),
  "POST /otel/v1/traces": () => ({ resourceSpans: [] }),
};

/** No encryption key has this id. Things of a workspace that encrypts cannot be searched. */
const NO_KEY = "0".repeat(16);

/** Bodies of routes whose twin without `/api/v1` or `/api/v2` takes another. */
const EXACT: Record<string, (things: Things) => unknown> = {
  "POST /api/v1/runs": traceRun,
  "POST /api/v1/runs/batch": () => ({ post: [], patch: [] }),
  "POST /api/v1/runs/query": ({ project_id }) => ({ session: [project_id], ...times }),
  "POST /runs/query": ({ project_id }) => ({ session: [project_id], ...times }),
  "POST /api/v1/runs/stats": ({ project_id }) => ({ session: [project_id], ...times }),
  "POST /runs/stats": ({ project_id }) => ({ session: [project_id], ...times }),
  "POST /api/v2/runs/query": ({ project_id }) => ({ project_ids: [project_id], min_start_time: times.start_time }),
  "POST /api/v2/traces/query": ({ project_id }) => ({ project_ids: [project_id], min_start_time: times.start_time }),
  "POST /api/v2/threads/query": ({ project_id }) => ({ project_id, min_start_time: times.start_time }),
  "POST /api/v2/threads/stats": ({ project_id }) => ({
    project_id,
    select: ["TRACE_COUNT"],
    min_start_time: times.start_time,
  }),
};

const QUERIES: Record<string, (things: Things) => Record<string, string>> = {
  "GET /platform/annotation-queues/:queue_id/items": () => ({ status: "needs_my_review" }),
  "GET /platform/annotation-queues/:queue_id/items/count": () => ({ status: "all" }),
  "GET /store/items": ({ marker }) => ({ namespace: JSON.stringify([marker, "notes"]), key: marker }),
  "DELETE /feedback-configs": ({ marker }) => ({ feedback_key: marker }),
  "GET /feedback/tokens": ({ trace_run_id }) => ({ run_id: trace_run_id }),
  "GET /datasets/:dataset_id/compare": ({ experiment_id }) => ({ experiment: experiment_id }),
  "GET /datasets/:dataset_id/version": () => ({ tag: "marked" }),
  "GET /datasets/:dataset_id/versions/diff": () => ({ from_version: "marked", to_version: "latest" }),
  "GET /examples": ({ dataset_id }) => ({ dataset: dataset_id }),
  "GET /examples/count": ({ dataset_id }) => ({ dataset: dataset_id }),
  "DELETE /examples": () => ({ example_ids: crypto.randomUUID() }),
  "DELETE /sessions": ({ spare_project_id }) => ({ session_ids: spare_project_id }),
  "GET /bulk-exports/runs": ({ schedule_id }) => ({ source_bulk_export_id: schedule_id }),
  "GET /threads/:thread_id/traces": ({ project_id }) => ({ project_id }),
  "GET /runs/:run_id/messages": ({ project_id }) => ({ project_id }),
  "GET /traces/:run_id/messages": ({ project_id }) => ({ project_id }),
  "GET /threads/:thread_id/messages": ({ project_id }) => ({ project_id }),
  "GET /threads/:thread_id/stats": ({ project_id }) => ({ session_id: project_id, selects: "TURNS" }),
  "GET /runs/threads/:thread_id": ({ project_id }) => ({ session_id: project_id }),
  "GET /flow/waiting": () => ({ rule: "none" }),
  "GET /sessions/resolutions": ({ experiment_id }) => ({ kind: "EXPERIMENT", id: experiment_id }),
  "DELETE /api/v2/threads/:thread_id": ({ project_id }) => ({ project_id }),
  "DELETE /api/v2/traces/:trace_id": ({ project_id }) => ({ project_id }),
  "GET /traces/:run_id/runs": ({ project_id }) => ({ project_id, start_time: "2026-01-02T12:00:00Z" }),
  "GET /runs/:run_id": ({ project_id }) => ({ project_id, start_time: "2026-01-02T12:00:00Z" }),
};

function run({ assistant_id }: Things): Json {
  return { assistant_id, input: said };
}

function traceRun({ project_id }: Things): Json {
  const id = crypto.randomUUID();
  const dotted_order = `20260102T120000000000Z${id}`;
  const times = { start_time: "2026-01-02T12:00:00Z", end_time: "2026-01-02T12:00:01Z" };
  return { id, trace_id: id, dotted_order, session_id: project_id, name: "x", run_type: "chain", inputs: {}, ...times };
}

export interface RouteCall {
  method: string;
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
}

/** The call of a route about these things. */
export function buildCall(route: string, things: Things): RouteCall {
  const [method = "", pattern = ""] = route.split(" ");
  const short = `${method} ${pattern.replace(/^\/api(?:\/v[12])?(?=\/)/, "").replace(/^\/v1(?=\/platform\/)/, "")}`;
  const path = pattern
    .replaceAll(/:\w+\{(\w+)\|[^}]*\}/g, "$1")
    .replaceAll(/\/:\w+(?:\{[^}]*\})?\?/g, "")
    .replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(findValue(name, pattern, things)));
  const query = new URLSearchParams((QUERIES[route] ?? QUERIES[short])?.(things)).toString();
  const at = query ? `${path}?${query}` : path;
  if (pattern.endsWith("/runs/multipart")) return { method, path: at, ...multipart(things) };
  if (pattern.endsWith("/platform/datasets/:dataset_id/examples")) {
    return { method, path: at, ...exampleParts(method, things) };
  }
  if (pattern.endsWith("/datasets/upload")) return { method, path: at, ...form({ file: "a\n1", input_keys: "a" }) };
  if (pattern === "/oauth/introspect") {
    return { method, path: at, body: "token=none", headers: { "content-type": "application/x-www-form-urlencoded" } };
  }
  const body = (EXACT[route] ?? BODIES[route] ?? BODIES[short])?.(things);
  return { method, path: at, body: body ?? (method === "GET" || method === "DELETE" ? undefined : {}) };
}

/** A form whose file has a name of its own. */
function form(fields: Record<string, string>): Pick<RouteCall, "body" | "headers"> {
  const parts = Object.entries({ name: crypto.randomUUID(), ...fields }).map(
    ([name, value]) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return { body: `${parts.join("")}--b--\r\n`, headers: { "content-type": "multipart/form-data; boundary=b" } };
}

function findValue(name: string, pattern: string, things: Things): string {
  const own: Partial<Record<string, string>> = {
    id: idIn(pattern, things),
    run_id: runIn(pattern, things),
    thread_id: threadIn(pattern, things),
    session_id: /\/(?:me|members)\//.test(pattern) ? things.member_session_id : things.project_id,
    trace_id: things.trace_run_id,
    index: "0",
    namespace: "none",
    token: "none",
  };
  return own[name] ?? (things as unknown as Record<string, string>)[name] ?? "none";
}

function threadIn(pattern: string, things: Things): string {
  if (pattern.includes("/interrupts/")) return things.waiting_thread_id;
  return /^\/api\/v2\/|\/runs\/threads\//.test(pattern) ? things.trace_thread_id : things.thread_id;
}

function idIn(pattern: string, things: Things): string {
  if (pattern.includes("/destinations/")) return things.destination_id;
  if (pattern.includes("/api-keys/")) return things.key_id;
  if (pattern.includes("/members/")) return things.member_id;
  if (pattern.includes("/invitations/")) return things.invitation_id;
  if (pattern.includes("/grants/")) return things.grant_id;
  if (pattern.includes("/webhook-secrets/")) return things.webhook_secret_id;
  if (pattern.includes("/encryption-keys/")) return NO_KEY;
  return pattern === "/api/v1/bulk-exports/:id" ? things.schedule_id : things.export_id;
}

/** `/runs/:run_id` is a trace run; under a thread, and to be joined, it is the agent's. */
function runIn(pattern: string, things: Things): string {
  if (pattern.includes("bulk-exports")) return things.export_run_id;
  if (pattern.includes("/threads/")) return things.run_id;
  return /\/(?:join|stream)$/.test(pattern) ? things.loose_run_id : things.trace_run_id;
}

function exampleParts(method: string, { example_id }: Things) {
  const id = method === "POST" ? crypto.randomUUID() : example_id;
  return encodeParts({ [id]: {}, [`${id}.inputs`]: { seen: true } });
}

function multipart({ project_id }: Things) {
  const { id, ...fields } = traceRun({ project_id } as Things) as { id: string };
  return encodeParts({ [`post.${id}`]: { id, ...fields } });
}

function encodeParts(parts: Record<string, object>) {
  const texts = Object.entries(parts).map(([name, value]) => {
    const json = JSON.stringify(value);
    return `--b\r\ncontent-disposition: form-data; name="${name}"\r\ncontent-type: application/json; length=${json.length}\r\n\r\n${json}\r\n`;
  });
  return { body: `${texts.join("")}--b--\r\n`, headers: { "content-type": "multipart/form-data; boundary=b" } };
}

function userSays({ thread_id }: Things): Json {
  const messages = [{ id: crypto.randomUUID(), role: "user", content: "hi" }];
  return { threadId: thread_id, runId: crypto.randomUUID(), messages };
}

function newRule({ marker, project_id, queue_id }: Things): object {
  const display_name = `rule of ${marker}`;
  return { display_name, sampling_rate: 0, session_id: project_id, add_to_annotation_queue_id: queue_id };
}

function newAlert({ marker, project_id }: Things): object {
  return { name: `alert of ${marker}`, session_id: project_id, metric: "run_count", threshold: 1, channels: [] };
}
