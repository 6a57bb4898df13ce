/** Keys of langgraph.json that work while the server runs. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, it } from "vitest";
import { readSettings, settings } from "../src/config.ts";
import { readResource } from "../src/access/oauth/request.ts";
import { lazy, createWeir } from "../src/index.ts";
import { embeddingsFrom } from "../src/agents/memory/vectors.ts";
import { headersAsConfigurable } from "../src/threads/api/request.ts";
import { authHandlers, projectExports } from "../src/deployment.ts";
import { newCaller } from "./support/caller.ts";

afterEach(() => {
  Object.assign(settings, { store: undefined, checkpointer: undefined, ...readSettings({}) });
  projectExports.auth = undefined;
});

it("http.configurable_headers says which headers graphs read", () => {
  const headers = new Headers({ "x-user": "1", "my-team": "2", "user-agent": "3", "x-api-key": "secret", accept: "4" });
  const pickHeaders = (configurable_headers?: object) =>
    headersAsConfigurable(headers, readSettings({ http: { configurable_headers } }).http);
  expect(pickHeaders()).toEqual({ "x-user": "1", "user-agent": "3" });
  expect(pickHeaders({ include: ["MY-*", "accept", "x-api-key"] })).toEqual({ "my-team": "2", accept: "4" });
  expect(pickHeaders({ excludes: ["x-*"] })).toEqual({ "user-agent": "3" });
});

it("no graph reads the server's own cookies", () => {
  const { http } = readSettings({ http: { configurable_headers: { include: ["*"] } } });
  const cookie = "a=1; __Host-weir_session=weir_session_x; weir_session=y; weir_openid=%7B%7D; mine_weir_b=2";
  expect(headersAsConfigurable(new Headers({ cookie }), http)).toEqual({ cookie: "a=1; mine_weir_b=2" });
});

it("http.mount_prefix is the path of every route", async () => {
  const weir = createWeir({ graphs: {}, config: { http: { mount_prefix: "/agents/" } } });
  const get = async (path: string) =>
    (await weir.fetch(new Request(`https://weir.test${path}`), env, createExecutionContext())).status;
  expect(await get("/agents/ok")).toBe(200);
  expect(await get("/agents/threads")).toBe(401);
  expect([await get("/ok"), await get("/agentsok")]).toEqual([404, 404]);
});

it("http.mount_prefix is in every address that the server gives", async () => {
  const weir = createWeir({ graphs: {}, config: { http: { mount_prefix: "/agents" } } });
  const fetchAnswer = (path: string, init?: { method: string; headers: Record<string, string> }) =>
    weir.fetch(new Request(`http://localhost${path}`, init), env, createExecutionContext());
  const read = async <T>(path: string) => (await fetchAnswer(path)).json<T>();
  const BASE = "http://localhost/agents";

  const server = await read<{ issuer: string; authorization_endpoint: string; protected_resources: string[] }>(
    "/.well-known/oauth-authorization-server/agents",
  );
  expect(server).toMatchObject({ issuer: BASE, authorization_endpoint: `${BASE}/oauth/authorize` });
  expect(server.protected_resources).toEqual([BASE, `${BASE}/mcp`, `${BASE}/mcp/traces`]);
  expect(await read("/agents/.well-known/oauth-authorization-server")).toEqual(server);
  expect(await read("/.well-known/openid-configuration/agents")).toEqual(server);
  expect(await read("/agents/.well-known/openid-configuration")).toEqual(server);
  expect(await read("/.well-known/oauth-protected-resource/agents/mcp")).toMatchObject({
    resource: `${BASE}/mcp`,
    authorization_servers: [BASE],
  });
  expect((await fetchAnswer("/.well-known/oauth-protected-resource/other/mcp")).status).toBe(404);

  const refused = await fetchAnswer("/agents/mcp", { method: "POST", headers: { "x-api-key": "wrong" } });
  expect(refused.headers.get("www-authenticate")).toContain(
    `resource_metadata="${BASE}/.well-known/oauth-protected-resource/mcp"`,
  );
  const card = await read<{ url: string }>("/agents/.well-known/agent-card.json?assistant_id=echo");
  expect(card.url).toMatch(/^http:\/\/localhost\/agents\/a2a\//);
  expect(await read("/agents/openapi.json")).toMatchObject({ servers: [{ url: "/agents" }] });
});

it.each([
  ["http://localhost/agents/mcp", "/mcp"],
  ["http://localhost/agents/", null],
  ["http://localhost/agents", null],
  ["http://localhost/mcp", undefined],
  ["http://localhost/agentsmcp", undefined],
])("the resource %s of a server under /agents is %s", (resource, path) => {
  expect(readResource(resource, "http://localhost/agents")).toBe(path);
});

it("store.ttl is the time of items without one", async () => {
  const caller = await newCaller();
  const expiry = async (ttl?: number) => {
    await caller.fetch("/store/items", { method: "PUT", body: { namespace: ["ttl"], key: "k", value: {}, ttl } });
    const { results } = await env.DB.prepare("SELECT ttl_minutes FROM store_items WHERE workspace_id = ?")
      .bind(caller.workspaceId)
      .run();
    return results[0]?.ttl_minutes;
  };
  expect(await expiry()).toBeNull();
  settings.store = { ttl: { default_ttl: 30 } };
  expect([await expiry(), await expiry(5)]).toEqual([30, 5]);
});

it("checkpointer.ttl is the time of threads without one", async () => {
  const caller = await newCaller();
  const createThread = async (ttl?: object) => {
    const { thread_id } = await (await caller.fetch("/threads", { body: { ttl } })).json<{ thread_id: string }>();
    return (await caller.fetch(`/threads/${thread_id}?include=ttl`)).json<{ ttl?: object }>();
  };
  expect(await createThread()).not.toHaveProperty("ttl");
  settings.checkpointer = { ttl: { strategy: "keep_latest", default_ttl: 20 } };
  expect(await createThread()).toMatchObject({ ttl: { strategy: "keep_latest", ttl_minutes: 20 } });
  expect(await createThread({ strategy: "delete", ttl: 5 })).toMatchObject({
    ttl: { strategy: "delete", ttl_minutes: 5 },
  });
});

it("store.index.embed makes the embeddings class of a provider's package", async () => {
  class OpenAIEmbeddings {
    constructor(readonly options: { model: string }) {}
    async embedDocuments(texts: string[]) {
      return texts.map((text) => [text.length, this.options.model.length]);
    }
  }
  const embed = embeddingsFrom("openai:ada:002", async () => ({ AzureOpenAIEmbeddings: Object, OpenAIEmbeddings }));
  expect(await embed(["a", "bc"], env)).toEqual([
    [1, 7],
    [2, 7],
  ]);
  await expect(embeddingsFrom("none:x", async () => ({}))(["a"], env)).rejects.toThrow(
    'The package of "none" has no embeddings',
  );
});

it("an auth that cannot be loaded refuses every call, and says so", async () => {
  const broken = lazy<never>("./auth.ts:auth", () => Promise.reject(new Error("no secret")));
  const weir = createWeir({ graphs: {}, auth: broken });
  const call = async (headers: Record<string, string>) =>
    weir.fetch(
      new Request("http://localhost/threads/search", { method: "POST", headers }),
      { ...env, AUTH: "open" },
      createExecutionContext(),
    );
  for (const headers of [{}, { authorization: "Bearer x" }] as Record<string, string>[]) {
    const answer = await call(headers);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ detail: "./auth.ts cannot be loaded. Error: no secret" });
  }
  await expect(authHandlers()).rejects.toThrow("no secret");
});

it("an application that cannot be loaded refuses every call, since it may hold checks", async () => {
  const weir = createWeir({ graphs: {}, app: lazy("./app.ts:app", async () => ({ other: 1 })) });
  const answer = await weir.fetch(new Request("https://weir.test/ok"), env, createExecutionContext());
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({ detail: './app.ts has no export "app". It exports: other.' });
});
