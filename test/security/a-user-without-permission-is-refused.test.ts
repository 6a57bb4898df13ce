/** Every route and every protocol method, called by a user whom the deployment's own `Auth` allows nothing. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Auth } from "@langchain/langgraph-sdk/auth";
import { beforeAll, describe, expect, it } from "vitest";
import { app } from "../support/app.ts";
import { LOCAL_WORKSPACE_ID } from "../../src/http/principal.ts";
import { ADMIN_KEY, send } from "../support/caller.ts";
import { firstText } from "./first-text.ts";
import { methodCalls } from "./methods.ts";
import { buildCall, type RouteCall } from "./route-calls.ts";
import { ROUTES } from "./routes.ts";
import { createAsk, makeThings, type Things } from "./things.ts";
import { deployUsers } from "./users.ts";

const MARKER = "marker9d04";
/** Methods that read and change nothing of the workspace. */
const FREE = new Set(["MCP initialize", "MCP ping", "MCP resources/templates/list", "MCP logging/setLevel"]);
/** Refusals with another status than 403. */
const STATUS: Record<string, number> = {
  // JSON-RPC errors.
  "POST /a2a/:assistant_id": 200,
  "POST /mcp": 200,
  // The threads that may not be deleted are left out: `pruned_count` is 0.
  "POST /threads/prune": 200,
  "GET /mcp": 405,
  "DELETE /mcp": 404,
};

let things: Things;
let count: number;

beforeAll(async () => {
  const admin = { "x-api-key": ADMIN_KEY };
  await send("/api/v1/workspaces", { body: { id: LOCAL_WORKSPACE_ID, name: "local" }, headers: admin });
  const headers = { ...admin, "x-tenant-id": LOCAL_WORKSPACE_ID };
  const sendAsAdmin: typeof send = (path, options) => send(path, { ...options, headers });
  things = await makeThings(createAsk({ workspaceId: LOCAL_WORKSPACE_ID, key: ADMIN_KEY, fetch: sendAsAdmin }), MARKER);
  count = await (await sendAsAdmin("/threads/count", { body: {} })).json<number>();
  deployUsers(new Auth().authenticate(() => ({ identity: "mallory", permissions: [] })).on("*", () => false));
});

async function sendAsUser({ method, path, body, headers = {} }: RouteCall, more: Record<string, string> = {}) {
  const init: RequestInit = {
    method,
    headers: { "content-type": "application/json", authorization: "Bearer mallory", ...headers, ...more },
  };
  if (body !== undefined) init.body = typeof body === "string" ? body : JSON.stringify(body);
  return app.fetch(new Request(`https://weir.test${path}`, init), env, createExecutionContext());
}

describe("a user without permission", () => {
  const scoped = Object.keys(ROUTES).filter((route) => ROUTES[route] !== "public" && ROUTES[route] !== "deployment");

  it.for(scoped)("%s", async (route) => {
    const response = await sendAsUser(buildCall(route, things));
    const text = await firstText(response);
    expect(text).not.toContain(MARKER);
    expect(response.status).toBe(STATUS[route] ?? 403);
  });

  it.for(Object.keys(methodCalls({} as Things)))("%s", async (name) => {
    const response = await sendAsUser(methodCalls(things)[name] as RouteCall);
    const text = await firstText(response);
    expect(text).not.toContain(MARKER);
    expect(response.status).toBeLessThan(500);
    expect(FREE.has(name) || /"error"|"isError":true|"status":403/.test(text)).toBe(true);
  });

  it.for(["/threads", "/api/threads"])("opens no WebSocket under %s", async (under) => {
    for (const path of ["/stream", "/stream/events"]) {
      const call = { method: "GET", path: `${under}/${things.thread_id}${path}` };
      expect((await sendAsUser(call, { upgrade: "websocket" })).status).toBe(403);
    }
  });

  it("has changed nothing", async () => {
    const { assistant_id, thread_id, cron_id } = things;
    const headers = { "x-api-key": ADMIN_KEY, "x-tenant-id": LOCAL_WORKSPACE_ID };
    for (const path of [`/assistants/${assistant_id}`, `/threads/${thread_id}`, `/runs/crons/${cron_id}`]) {
      const text = await (await send(path, { headers })).text();
      expect(text).toContain(MARKER);
      expect(text).not.toContain("mallory");
    }
    expect(await (await send("/threads/count", { body: {}, headers })).json()).toBe(count);
  });
});
