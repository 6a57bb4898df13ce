/** What the examples of /openapi.json say: values by the name of a member or parameter, and bodies of routes. */

/** How a body is sent. `multipart` has the JSON of each part by its name. */
export type ExampleBody = { json: unknown } | { form: Record<string, string> } | { multipart: Record<string, unknown> };

export const ID = "0198c0de-0000-7000-8000-000000000001";
const ORDER = `20260102T120000000000Z${ID}`;
const MESSAGES = [{ role: "user", content: "What is 17 * 24?" }];
const TRACE = {
  id: ID,
  trace_id: ID,
  dotted_order: ORDER,
  session_name: "my-project",
  name: "my-chain",
  run_type: "chain",
  inputs: { question: "What is 17 * 24?" },
  start_time: "2026-01-02T12:00:00Z",
};
const TRACE_END = { ...TRACE, outputs: { answer: 408 }, end_time: "2026-01-02T12:00:01Z" };
const EXAMPLE_PARTS = { [ID]: {}, [`${ID}.inputs`]: { question: "What is 17 * 24?" } };

const RULE = {
  display_name: "Failed runs",
  session_id: ID,
  sampling_rate: 1,
  filter: 'eq(status, "error")',
  webhooks: [{ url: "https://example.com/hook" }],
};
const ALERT = {
  name: "Too many errors",
  session_id: ID,
  metric: "error_rate",
  threshold: 0.05,
  channels: [{ type: "slack", url: "https://hooks.slack.com/services/T/B/X" }],
};

/** Members that an example has though the schema does not require them. Without them it would show nothing. */
export const TELLING = new Set([
  "trace_ids",
  "input",
  "values",
  "redirect_uris",
  "destination_type",
  "session",
  "session_id",
  "project_ids",
  "concurrency",
  "dollars",
  "run_ids",
]);

/** Values by name, for members of bodies and for parameters. */
export const VALUES: Record<string, unknown> = {
  file: "entrypoint.js",
  assistant_id: "agent",
  graph_id: "agent",
  input: { messages: MESSAGES },
  messages: MESSAGES,
  values: { messages: MESSAGES },
  value: { colour: "blue" },
  rules: [{ type: "set", set: "email" }],
  concurrency: 5,
  rule: "per-user",
  rule_id: "per-user",
  budget_id: "each-run",
  budget: "each-run",
  dollars: 0.5,
  prices: [{ model: "my-model*", input: 1, output: 4 }],
  schedule: "0 9 * * 1-5",
  channels: ["values", "messages"],
  namespace: ["users", "ada"],
  namespace_prefix: ["users"],
  filter: 'eq(status, "error")',
  display_name: "My bucket",
  role: "viewer",
  redirect_uris: ["https://app.example/callback"],
  start_time: "2026-01-01T00:00:00Z",
  destination_type: "r2",
  session: [ID],
  experiment: ID,
  index: "0",
  operations: [{ key: "reviewed", operation: "SET", value: true }],
};

/** Query parameters by method and path, for routes that need one of several. */
export const QUERIES: Record<string, Record<string, string>> = {
  "GET /.well-known/agent-card.json": { assistant_id: "agent" },
  "GET /.well-known/agent.json": { assistant_id: "agent" },
  "GET /examples": { dataset: ID },
  "GET /api/v1/examples": { dataset: ID },
  "GET /api/v2/threads/{thread_id}/stats": { selects: "TURNS" },
};

/** Bodies by method and path, for routes that no schema describes or whose schema does not say enough. */
export const BODIES: Record<string, ExampleBody> = {
  "POST /oauth/authorize": { form: { step: "allow", client_id: "CLIENT_ID" } },
  "POST /oauth/token": {
    form: {
      grant_type: "authorization_code",
      code: "CODE",
      redirect_uri: "https://app.example/callback",
      client_id: "CLIENT_ID",
      code_verifier: "VERIFIER",
    },
  },
  "POST /oauth/revoke": { form: { token: "TOKEN", client_id: "CLIENT_ID" } },
  "POST /oauth/introspect": { form: { token: "TOKEN" } },
  "POST /api/v1/bulk-exports": {
    json: {
      bulk_export_destination_id: ID,
      session_id: ID,
      start_time: "2026-01-01T00:00:00Z",
      end_time: "2026-02-01T00:00:00Z",
    },
  },
  "PATCH /api/v1/bulk-exports/{id}": { json: { status: "CANCELLED" } },
  "POST /api/v2/datasets/{dataset_id}/experiment-runs": {
    json: { experiment_ids: [ID], selects: ["NAME", "OUTPUTS"] },
  },
  "POST /api/v2/threads/stats": { json: { project_id: ID, select: ["THREAD_COUNT", "TOTAL_TOKENS"] } },
  "POST /api/v1/playground/stream": {
    json: { model: { provider: "offline" }, messages: [{ role: "human", content: "What is 17 * 24?" }] },
  },
  "POST /runs/rules": { json: RULE },
  "PATCH /runs/rules/{rule_id}": { json: RULE },
  "POST /api/v1/runs/rules": { json: RULE },
  "PATCH /api/v1/runs/rules/{rule_id}": { json: RULE },
  "POST /api/v1/alerts": { json: ALERT },
  "PUT /api/v1/alerts/{alert_id}": { json: ALERT },
  "POST /runs/cancel": { json: { thread_id: ID, run_ids: [ID] } },
  "POST /agui/{assistant_id}/connect": { json: { threadId: ID, runId: ID, messages: [] } },
  "POST /agui/{assistant_id}": { json: { threadId: ID, runId: ID, messages: [{ id: "1", ...MESSAGES[0] }] } },
  "POST /mcp/traces": { json: { jsonrpc: "2.0", id: 1, method: "tools/list" } },
  "POST /mcp": { json: { jsonrpc: "2.0", id: 1, method: "tools/list" } },
};

/** The same, for routes that are there with and without `/api/v1` or `/v1`, which is left out here. */
export const SHARED_BODIES: Record<string, ExampleBody> = {
  "POST /runs/multipart": { multipart: { [`post.${ID}`]: TRACE } },
  "PATCH /runs/{run_id}": { json: TRACE_END },
  "POST /feedback": { json: { run_id: ID, key: "helpful", score: 1 } },
  "POST /feedback/eager": { json: { run_id: ID, key: "helpful", score: 1 } },
  "POST /otel/v1/traces": { json: { resourceSpans: [] } },
  "POST /datasets/upload": {
    multipart: {
      file: [{ question: "What is 2 + 2?", answer: "4" }],
      input_keys: ["question"],
      output_keys: ["answer"],
      name: "questions",
    },
  },
  "POST /platform/datasets/{dataset_id}/examples": { multipart: EXAMPLE_PARTS },
  "PATCH /platform/datasets/{dataset_id}/examples": { multipart: EXAMPLE_PARTS },
  "POST /runs/batch": { json: { post: [TRACE], patch: [] } },
  "POST /runs": { json: TRACE },
};

// Examples for /openapi.json: a body and parameters of each operation, from its schemas.

export interface OpenApiSchema {
  type?: string;
  anyOf?: OpenApiSchema[];
  enum?: unknown[];
  const?: unknown;
  format?: string;
  items?: OpenApiSchema;
  properties?: Record<string, OpenApiSchema>;
  required?: string[];
  minimum?: number;
}

interface Parameter {
  in: string;
  name: string;
  required?: boolean;
  schema: OpenApiSchema;
  example?: unknown;
}

export interface OpenApiOperation {
  operationId?: string;
  summary?: string;
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: OpenApiSchema; example?: unknown }> };
  responses?: Record<string, object>;
  security?: object[];
  "x-codeSamples"?: { lang: string; label: string; source: string }[];
}

/** A value that `schema` accepts. An object has the members that it requires, and those of `TELLING`. */
function buildExample(schema: OpenApiSchema, name = ""): unknown {
  if (schema.format === "uuid") return ID;
  if (VALUES[name] !== undefined) return VALUES[name];
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  if (schema.anyOf) return buildExample(schema.anyOf.find(({ type }) => type !== "null") ?? {}, name);
  switch (schema.type ?? "any") {
    case "object":
      return exampleObject(schema);
    case "array":
      return [buildExample(schema.items ?? {}, name.replace(/s$/, ""))];
    case "boolean":
      return true;
    case "integer":
    case "number":
      return Math.max(schema.minimum ?? 1, 1);
    case "string":
      return exampleText(schema, name);
    default:
      return {};
  }
}

function exampleObject({ properties = {}, required = [] }: OpenApiSchema): object {
  const members = Object.entries(properties).filter(([name]) => required.includes(name) || TELLING.has(name));
  return Object.fromEntries(members.map(([name, schema]) => [name, buildExample(schema, name)]));
}

function exampleText({ format }: OpenApiSchema, name: string): string {
  if (format === "uuid" || /(^|_)ids?$/i.test(name)) return ID;
  if (format === "date-time") return "2026-01-01T00:00:00Z";
  return `my-${name.replaceAll("_", "-") || "text"}`;
}

/** The example body of an operation; undefined if it takes none. */
export function exampleBody(method: string, path: string, { requestBody }: OpenApiOperation): ExampleBody | undefined {
  const route = `${method.toUpperCase()} ${path}`;
  if (BODIES[route]) return BODIES[route];
  const schema = requestBody?.content["application/json"]?.schema;
  return schema ? { json: buildExample(schema) } : SHARED_BODIES[route.replace(/ (\/api)?\/v1(?=\/)/, " ")];
}

/** The values of an operation's path parameters, and of the query parameters that it needs. */
export function exampleParameters(
  method: string,
  route: string,
  { parameters = [] }: OpenApiOperation,
): {
  path: [string, string][];
  query: URLSearchParams;
} {
  const path: [string, string][] = [];
  const query = new URLSearchParams(QUERIES[`${method.toUpperCase()} ${route}`]);
  for (const { in: where, name, required, schema } of parameters) {
    const value = buildExample(schema, name);
    const text = typeof value === "string" ? value : JSON.stringify(value);
    if (where === "path") path.push([name, text]);
    else if (where === "query" && required) query.set(name, text);
  }
  return { path, query };
}
