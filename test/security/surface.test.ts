/** What every answer carries, and limits that every call meets. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { forgetCredentials } from "../../src/access/auth/store.ts";
import { app } from "../support/app.ts";
import { accessOf } from "../../src/http/route.ts";
import { newTokens } from "../access/oauth/person.ts";
import { newCaller, send } from "../support/caller.ts";

/** One call with other bindings than the tests' own. */
async function sendWith(bindings: Partial<Env>, url: string, headers: Record<string, string> = {}, method = "GET") {
  return app.fetch(new Request(url, { method, headers }), { ...env, ...bindings }, createExecutionContext());
}

describe("other sites' pages", () => {
  const preflight = {
    origin: "https://app.example",
    "access-control-request-method": "POST",
    "access-control-request-headers":
      "content-type,x-api-key,authorization,x-tenant-id,last-event-id,idempotency-key,x-mine",
  };

  it("may send every header, and read the ones that clients need", async () => {
    const answer = await send("/threads", { method: "OPTIONS", headers: preflight });
    expect(answer.status).toBe(204);
    expect(answer.headers.get("access-control-allow-origin")).toBe("*");
    expect(answer.headers.get("access-control-allow-headers")).toBe(preflight["access-control-request-headers"]);
    expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
    for (const path of ["/ok", "/assistants/search", "/nothing"]) {
      const read = await send(path, { headers: { origin: "https://app.example" } });
      expect(read.headers.get("access-control-allow-origin")).toBe("*");
      const exposed = read.headers.get("access-control-expose-headers")?.split(",");
      for (const name of ["content-location", "location", "x-pagination-total", "x-pagination-next"]) {
        expect(exposed).toContain(name);
      }
    }
  });

  it("are only the configured ones when some are", async () => {
    const only = { CORS_ORIGINS: "https://app.example, https://two.example/" };
    const readAllowedOrigin = async (origin: string) =>
      (await sendWith(only, "https://weir.test/ok", { origin })).headers.get("access-control-allow-origin");
    expect(await readAllowedOrigin("https://app.example")).toBe("https://app.example");
    expect(await readAllowedOrigin("https://two.example")).toBe("https://two.example");
    expect(await readAllowedOrigin("https://evil.example")).toBeNull();
    expect(await readAllowedOrigin("https://app.example.evil.example")).toBeNull();
    expect(await readAllowedOrigin("null")).toBeNull();
  });

  it("cannot use a server that is open to its own machine", async () => {
    const open = { AUTH: "open" };
    const status = async (url: string, headers: Record<string, string> = {}) =>
      (await sendWith(open, `${url}/api/v1/api-keys`, headers)).status;
    expect(await status("http://localhost:8787")).toBe(200);
    expect(await status("http://127.0.0.1:8787", { origin: "http://localhost:5173" })).toBe(200);
    // A browser says that of a page on another name of this machine.
    const otherName = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors" };
    expect(await status("http://127.0.0.1:8787", { ...otherName, origin: "http://localhost:5173" })).toBe(200);
    expect(await status("http://127.0.0.1:8787", { ...otherName, origin: "https://evil.example" })).toBe(401);
    expect(await status("http://localhost:8787", { origin: "https://evil.example" })).toBe(401);
    expect(await status("http://localhost:8787", { origin: "null" })).toBe(401);
    expect(await status("http://localhost:8787", { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" })).toBe(
      401,
    );
    // A name that was made to point to this machine.
    expect(await status("http://rebound.example:8787")).toBe(401);
    expect(await status("https://weir.example")).toBe(401);
  });
});

it("an id in capitals is the same id", async () => {
  const caller = await newCaller();
  const id = crypto.randomUUID();
  const capitals = id.toUpperCase();
  const json = async (path: string, body?: unknown) =>
    (await caller.fetch(path, { body, headers: { "x-tenant-id": caller.workspaceId.toUpperCase() } })).json();
  expect(await json("/threads", { thread_id: capitals })).toMatchObject({ thread_id: id });
  expect(await json(`/threads/${capitals}`)).toMatchObject({ thread_id: id });
  expect(await json("/assistants", { assistant_id: capitals, graph_id: "echo" })).toMatchObject({ assistant_id: id });
  expect(await json(`/assistants/${capitals}`)).toMatchObject({ assistant_id: id });
  const run = { assistant_id: capitals, input: { messages: [] } };
  expect(await json(`/threads/${capitals}/runs`, run)).toMatchObject({ assistant_id: id, thread_id: id });
  const cron = (await json("/runs/crons", { assistant_id: capitals, schedule: "0 0 1 1 *" })) as { cron_id: string };
  expect(await json(`/runs/crons/${cron.cron_id.toUpperCase()}`)).toEqual(cron);
});

it("a workspace that was made with an id in capitals still answers to it", async () => {
  const caller = await newCaller();
  const id = caller.workspaceId.toUpperCase();
  const made = "insert into workspaces (id, name, settings, created_at) values (?, 'test', '{}', 0)";
  await env.DB.prepare(made).bind(id).run();
  await env.DB.prepare("update api_keys set workspace_id = ? where workspace_id = ?")
    .bind(id, caller.workspaceId)
    .run();
  const headers = { "x-tenant-id": id };
  expect((await caller.fetch("/api/v1/api-keys", { headers })).status).toBe(200);
});

describe("a path", () => {
  it("that takes other methods is a 405 that names them", async () => {
    const caller = await newCaller();
    for (const [method, path, allow] of [
      ["PUT", "/assistants", "POST"],
      ["GET", "/a2a/echo", "POST"],
      ["POST", `/assistants/${crypto.randomUUID()}`, "GET, PATCH, DELETE"],
      ["PATCH", "/api/v1/bulk-exports", "GET, POST"],
      ["PUT", "/oauth/authorize", "GET, POST"],
    ] as const) {
      const answer = await caller.fetch(path, { method });
      expect([path, answer.status, answer.headers.get("allow")]).toEqual([path, 405, allow]);
      expect(await answer.json()).toMatchObject({ status: 405, detail: expect.stringContaining(allow) });
    }
    const nothing = await caller.fetch("/assistants/a/b/c");
    expect([nothing.status, nothing.headers.get("allow")]).toEqual([404, null]);
    expect((await send("/.well-known/oauth-protected-resource/nothing")).status).toBe(404);
  });

  it("may end with a slash", async () => {
    const caller = await newCaller();
    expect((await caller.fetch("/assistants/search/", { body: {} })).status).toBe(200);
    expect((await caller.fetch("/api/v1/bulk-exports/")).status).toBe(200);
    const client = { redirect_uris: ["http://127.0.0.1/cb"] };
    expect((await send("/oauth/register/", { body: client })).status).toBe(201);
    expect((await send("/assistants/search/", { body: {} })).status).toBe(401);
  });
});

it("every answer has headers against sniffing, framing and embedding", async () => {
  for (const path of ["/ok", "/nothing", "/assistants/search", "/.well-known/oauth-authorization-server"]) {
    const { headers } = await send(path);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
    expect(headers.get("strict-transport-security")).toBe("max-age=31536000");
  }
});

describe("a credential", () => {
  it("that calls too often gets a Retry-After", async () => {
    const caller = await newCaller();
    const seen: string[] = [];
    const limit = { success: false };
    const limiter = { limit: async ({ key }: { key: string }) => (seen.push(key), { ...limit }) };
    const call = () =>
      sendWith({ KEY_LIMIT: limiter }, "https://weir.test/api/v1/api-keys", { "x-api-key": caller.key });
    const answer = await call();
    expect(answer.status).toBe(429);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
    expect(seen).toHaveLength(1);
    expect(seen[0]).toContain(caller.workspaceId);
    expect(seen[0]).not.toContain(caller.key);
    expect((await call()).status).toBe(429);
    limit.success = true;
    expect((await call()).status).toBe(200);
    for (let request = 0; request < 40; request += 1) expect((await call()).status).toBe(200);
    expect(seen).toHaveLength(5);
  });

  it("costs one read of the database and the next call none, and a public route none", async () => {
    const caller = await newCaller();
    const { access_token } = await newTokens(caller);
    const count = async (path: string, headers: Record<string, string>) => {
      let reads = 0;
      const DB = new Proxy(env.DB, {
        get(target, name) {
          if (name === "prepare" || name === "batch") reads += 1;
          const value = Reflect.get(target, name) as unknown;
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
      await sendWith({ DB }, `https://weir.test${path}`, headers);
      return reads;
    };
    // The first use in an hour is written down.
    await caller.fetch("/nothing");
    const noted = env.DB.prepare("select last_used_at from api_keys where workspace_id = ?").bind(caller.workspaceId);
    await expect.poll(() => noted.first("last_used_at")).not.toBeNull();
    forgetCredentials();
    for (const reads of [1, 0, 0]) {
      expect(await count("/nothing", { "x-api-key": caller.key })).toBe(reads);
      expect(await count("/nothing", { authorization: `Bearer ${access_token}` })).toBe(reads);
    }
    expect(await count("/ok", { "x-api-key": caller.key })).toBe(0);
    expect(await count("/.well-known/oauth-protected-resource", {})).toBe(0);
  });

  it("makes no key with more scopes than its own", async () => {
    const caller = await newCaller();
    const made = await caller.fetch("/api/v1/api-keys", { body: { scopes: ["admin"] } });
    const { key } = await made.json<{ key: string }>();
    const make = (body: object) => send("/api/v1/api-keys", { body, headers: { "x-api-key": key } });
    expect((await make({ scopes: ["admin", "read"] })).status).toBe(403);
    expect(await (await make({})).json()).toMatchObject({ scopes: ["admin"] });
  });
});

it("a route that the scope table forgot is refused, an unknown path is not found", async () => {
  const caller = await newCaller();
  expect(accessOf("GET", "/forgotten")).toBeUndefined();
  expect((await caller.fetch("/forgotten")).status).toBe(404);
  expect((await send("/forgotten")).status).toBe(401);
});

it("a GET that does something needs the right to write", async () => {
  expect(accessOf("GET", "/threads/x/stream")?.access).toBe("threads.read");
  expect(accessOf("HEAD", "/threads/x")?.access).toBe("threads.read");
  expect(accessOf("GET", "/api/threads/x/stream/events", true)?.access).toBe("runs.create");

  const caller = await newCaller();
  const made = await caller.fetch("/api/v1/api-keys", { body: { scopes: ["read"] } });
  const { key } = await made.json<{ key: string }>();
  const status = async (path: string, headers: Record<string, string> = {}) =>
    (await send(path, { headers: { "x-api-key": key, ...headers } })).status;
  const thread = `/threads/${crypto.randomUUID()}`;
  const join = `${thread}/runs/${crypto.randomUUID()}/join`;
  expect(await status(join)).toBe(404);
  expect(await status(`${join}?cancel_on_disconnect=0`)).toBe(404);
  expect(await status(`${join}?a=1&cancel_on_disconnect=false`)).toBe(404);
  expect(await status(`${join}?cancel_on_disconnect=1`)).toBe(403);
  expect(await status(`${join}?a=1&cancel_on_disconnect=true`)).toBe(403);
  expect(await status(`${join}?cancel%5Fon_disconnect=1`)).toBe(403);
  expect(await status(`${thread}/stream`, { upgrade: "websocket" })).toBe(403);
});

it("secrets stay out of logs and errors", async () => {
  const lines: unknown[] = [];
  for (const level of ["log", "info", "warn", "error", "debug"] as const) {
    vi.spyOn(console, level).mockImplementation((...words: unknown[]) => void lines.push(words));
  }
  const caller = await newCaller();
  const tokens = await newTokens(caller);
  const answers = [
    await caller.fetch("/api/v1/api-keys", { body: `{"name": "${caller.key}`, method: "POST" }),
    await caller.fetch("/api/v1/api-keys", { body: { name: 1, secret: caller.key } }),
    await send("/oauth/token", { body: `refresh_token=${tokens.refresh_token}` }),
    await send(`/nothing?key=x`, { headers: { "x-api-key": `${caller.key}x` } }),
    await send("/nothing", { headers: { authorization: `Bearer ${tokens.access_token}x` } }),
  ];
  vi.restoreAllMocks();
  const written = JSON.stringify(lines) + (await Promise.all(answers.map((answer) => answer.text()))).join("\n");
  for (const secret of [caller.key, tokens.access_token, tokens.refresh_token]) expect(written).not.toContain(secret);
});
