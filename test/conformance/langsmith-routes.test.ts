/**
 * Every route that the clients of LangSmith know: the generated clients and those written by hand, in JavaScript and Python, and
 * langsmith-fetch. Each is served, or refused with 501 and the reason.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";

const ID = "00000000-0000-4000-8000-000000000000";

const SERVED = `
GET /api/v1/runs/rules
DELETE /api/v1/annotation-queues/:id
DELETE /api/v1/annotation-queues/:id/runs/:id
GET /api/v1/annotation-queues
GET /api/v1/annotation-queues/:id
GET /api/v1/annotation-queues/:id/queues
GET /api/v1/annotation-queues/:id/run/0
GET /api/v1/annotation-queues/:id/runs
GET /api/v1/annotation-queues/:id/size
GET /api/v1/annotation-queues/:id/total_archived
GET /api/v1/annotation-queues/:id/total_size
PATCH /api/v1/annotation-queues/:id
PATCH /api/v1/annotation-queues/:id/runs/:id
POST /api/v1/annotation-queues
POST /api/v1/annotation-queues/:id/runs
POST /api/v1/annotation-queues/:id/runs/by-key
POST /api/v1/annotation-queues/:id/runs/delete
POST /api/v1/annotation-queues/populate
POST /api/v1/annotation-queues/status/:id
GET /api/v1/platform/annotation-queues/:id/items
GET /api/v1/platform/annotation-queues/:id/items/:id/placement
GET /api/v1/platform/annotation-queues/:id/items/count
PATCH /api/v1/platform/annotation-queues/:id/items/:id
POST /api/v1/platform/annotation-queues/:id/items
POST /api/v1/platform/annotation-queues/:id/items/delete
POST /api/v1/platform/annotation-queues/items/:id/status
DELETE /api/v1/platform/datasets/:id/examples/:id
DELETE /api/v1/sessions/:id
DELETE /api/v2/runs/:id/share
DELETE /datasets/:id
DELETE /datasets/:id/share
DELETE /examples
DELETE /examples/:id
DELETE /feedback-configs
DELETE /feedback/:id
DELETE /runs/:id/share
GET /api/v1/info
GET /api/v1/sessions/:id
GET /api/v1/sessions/resolutions
GET /api/v2/public/:id/run/:id
GET /api/v2/runs/:id
GET /api/v2/runs/:id/messages
GET /api/v2/threads/:id/messages
GET /api/v2/threads/:id/stats
GET /api/v2/threads/:id/traces
GET /api/v2/traces/:id/messages
GET /api/v2/traces/:id/runs
GET /datasets
GET /datasets/:id
GET /datasets/:id/csv
GET /datasets/:id/jsonl
GET /datasets/:id/openai
GET /datasets/:id/openai_ft
GET /datasets/:id/share
GET /datasets/:id/splits
GET /datasets/:id/version
GET /datasets/:id/versions
GET /datasets/:id/versions/diff
GET /examples
GET /examples/:id
GET /feedback
GET /feedback-configs
GET /feedback/:id
GET /feedback/tokens
GET /public/:id/datasets
GET /public/:id/examples
GET /public/:id/run
GET /runs/:id
GET /runs/:id/share
GET /runs/threads/:id
GET /sessions
PATCH /api/v1/platform/datasets/:id/examples/metadata
PATCH /api/v1/sessions/:id
PATCH /datasets/:id
PATCH /examples/:id
PATCH /examples/bulk
PATCH /feedback-configs
PATCH /feedback/:id
PATCH /runs/:id
PATCH /v1/platform/datasets/:id/examples
POST /api/v1/sessions
POST /api/v2/public/:id/runs/query
POST /api/v2/runs/:id/share
POST /api/v2/runs/query
POST /api/v2/threads/query
POST /api/v2/threads/stats
POST /api/v2/traces/query
POST /api/v2/datasets/:id/experiment-runs
POST /datasets
POST /datasets/:id/index
POST /datasets/:id/index/sync
POST /datasets/:id/runs
POST /datasets/:id/search
POST /datasets/clone
POST /datasets/upload
POST /datasets/comparative
POST /examples
POST /examples/bulk
POST /feedback
POST /feedback-configs
POST /feedback/tokens
POST /feedback/tokens/:id
POST /public/:id/runs/query
POST /runs/batch
POST /runs/group
POST /runs/multipart
POST /runs/query
POST /runs/stats
POST /v1/platform/datasets/:id/examples
POST /v1/platform/datasets/examples/delete
PUT /datasets/:id/share
PUT /datasets/:id/splits
PUT /datasets/:id/tags
PUT /runs/:id/share`;

/** Routes of the clients written by hand, and others that people call, which are refused. */
const REFUSED = `
GET /charts
GET /feedback-formulas
GET /model-price-map
GET /orgs/current
GET /public/:id/datasets/sessions
GET /sessions/:id/insights/:id
GET /sessions/:id/metadata
GET /sessions/:id/views
GET /tags
GET /workspaces/current/secrets
POST /runs/generate-query
POST /runs/group/stats
POST /v1/platform/examples/multipart
GET /comments/owner/prompt
POST /repos/owner/prompt/fork
POST /v1/platform/hub/repos/owner/agent/directories/commits`;

const listRoutes = (text: string) => text.trim().split("\n");

/** The routes of the generated client in a folder of its resources, with `:id` for what is in a path. */
function listGenerated(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".mjs"));
  return files.flatMap((file) => {
    const source = readFileSync(join(folder, file), "utf8");
    const calls = source.matchAll(/_client\.(\w+)\((?:path ?)?[`']([^`']+)[`']([^]{0,300}?)\);/g);
    return [...calls].map(([, verb = "", path = "", rest = ""]) => {
      const listed = rest.includes("method: 'post'") ? "POST" : "GET";
      const at = path
        .replaceAll(/\$\{[^}]*\}/g, ":id")
        .replace("/annotation-queues/:id/run/:id", "/annotation-queues/:id/run/0");
      return `${verb === "getAPIList" ? listed : verb.toUpperCase()} ${at}`;
    });
  });
}

const GENERATED = [...new Set(listGenerated("node_modules/langsmith/resources"))];
const served = new Set(listRoutes(SERVED));

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer();
});
afterAll(async () => server.stop());

async function call(route: string): Promise<{ status: number; type: string | null; detail: string }> {
  const [method = "", path = ""] = route.split(" ");
  const response = await fetch(server.url + path.replaceAll(":id", ID), {
    method,
    headers: { ...server.headers, "content-type": "application/json" },
    ...(method === "GET" ? {} : { body: "{}" }),
  });
  const text = await response.text();
  return { status: response.status, type: response.headers.get("content-type"), detail: text };
}

it("finds the routes of the generated client", () => {
  expect(GENERATED.length).toBeGreaterThan(80);
  expect(GENERATED).toContain("POST /api/v2/traces/query");
});

describe("served", () => {
  it.each([...served])("%s", async (route) => {
    const { status, detail } = await call(route);
    expect([405, 500, 501]).not.toContain(status);
    // A thing of this id is not there; the route is.
    expect(detail).not.toContain("No route");
    expect(detail).not.toContain("Invalid path");
  });
});

describe("refused with the reason", () => {
  const refused = [...new Set([...listRoutes(REFUSED), ...GENERATED])].filter((route) => !served.has(route));
  it.each(refused)("%s", async (route) => {
    expect(await call(route)).toEqual({
      status: 501,
      type: "application/problem+json",
      detail: expect.stringMatching(/Weir does not serve .+docs\/experiments\.md/),
    });
  });
});
