import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { app } from "../../support/app.ts";
import { newCaller, send } from "../../support/caller.ts";
import { newClient, newTokens, request, withToken } from "./person.ts";

it("lists where to register, sign in and get tokens", async () => {
  const response = await send("/.well-known/oauth-authorization-server");
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({
    issuer: "https://weir.test",
    authorization_endpoint: "https://weir.test/oauth/authorize",
    token_endpoint: "https://weir.test/oauth/token",
    registration_endpoint: "https://weir.test/oauth/register",
    revocation_endpoint: "https://weir.test/oauth/revoke",
    introspection_endpoint: "https://weir.test/oauth/introspect",
    introspection_endpoint_auth_methods_supported: ["Bearer"],
    response_types_supported: ["code"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
    scopes_supported: ["read", "write", "exports", "admin"],
  });
});

it("is also where clients of OpenID Connect look for it", async () => {
  const read = async (name: string) => (await send(`/.well-known/${name}`)).json();
  expect(await read("openid-configuration")).toEqual(await read("oauth-authorization-server"));
});

it.each([
  "/.well-known/openid-configuration/mcp",
  ...["/mcp", "/mcp/traces", "/a2a/echo", "/agui/echo"].map((path) => `${path}/.well-known/openid-configuration`),
  "/mcp/.well-known/openid-configuration/",
])("is not at %s, where clients take a 404 for an answer and a 401 for none", async (path) => {
  expect((await send(path)).status).toBe(404);
});

it.each([
  ["", "https://weir.test"],
  ["/", "https://weir.test"],
  ["/mcp", "https://weir.test/mcp"],
  ["/mcp/traces", "https://weir.test/mcp/traces"],
  ["/a2a/echo", "https://weir.test/a2a/echo"],
  ["/a2a/echo/", "https://weir.test/a2a/echo"],
  ["/agui/My%20agent", "https://weir.test/agui/My%20agent"],
])("describes the resource at %j", async (path, resource) => {
  const response = await send(`/.well-known/oauth-protected-resource${path}`);
  expect(await response.json()).toMatchObject({ resource, authorization_servers: ["https://weir.test"] });
});

it.each(["/elsewhere", "/a2a", "/agui/", "/a2a/echo/tasks", "/mcp/x", "/threads/mcp"])(
  "has no other resource, such as %s",
  async (path) => {
    expect((await send(`/.well-known/oauth-protected-resource${path}`)).status).toBe(404);
  },
);

it.each([
  ["/a2a/echo", "/a2a/echo"],
  ["/a2a/echo/", "/a2a/echo"],
  ["/agui/echo", "/agui/echo"],
  ["/mcp", "/mcp"],
  ["/mcp/traces", "/mcp/traces"],
  ["/runs", ""],
  [`/a2a/${"a".repeat(5_000)}`, ""],
])("is named by the 401 of the resource %s", async (path, resource) => {
  const refused = await send(path, { body: {} });
  expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([
    401,
    `Bearer resource_metadata="https://weir.test/.well-known/oauth-protected-resource${resource}"`,
  ]);
});

it("of traces over MCP is of the scope read, and no token for /mcp opens it", async () => {
  const resource = "https://weir.test/mcp/traces";
  const metadata = await send("/.well-known/oauth-protected-resource/mcp/traces");
  expect(await metadata.json()).toMatchObject({ resource, scopes_supported: ["read"] });
  const caller = await newCaller();
  const readStatus = async (path: string, token: string) => (await withToken(path, token, undefined, "GET")).status;
  const ofTraces = await newTokens(caller, { resource, scope: "read" });
  expect([
    await readStatus("/mcp/traces", ofTraces.access_token),
    await readStatus("/mcp", ofTraces.access_token),
    await readStatus("/threads/x", ofTraces.access_token),
  ]).toEqual([405, 401, 401]);
  const ofAgents = await newTokens(caller, { resource: "https://weir.test/mcp" });
  expect([
    await readStatus("/mcp", ofAgents.access_token),
    await readStatus("/mcp/traces", ofAgents.access_token),
  ]).toEqual([405, 401]);
});

it("is the only thing that a token for the resource opens", async () => {
  const { access_token } = await newTokens(await newCaller(), { resource: "https://weir.test/agui/echo" });
  const readStatus = async (path: string) => (await withToken(path, access_token, undefined, "POST")).status;
  expect(await readStatus("/agui/echo")).toBe(422);
  for (const path of ["/agui/agent", "/a2a/echo", "/runs"]) expect(await readStatus(path)).toBe(401);
});

describe("behind a proxy", () => {
  const PUBLIC = "https://public.example";
  const fetchBehind = (path: string, init: RequestInit = {}) =>
    app.fetch(
      new Request(`http://inner:8787${path}`, { redirect: "manual", ...init }),
      { ...env, PUBLIC_URL: `${PUBLIC}/` },
      createExecutionContext(),
    );

  it("names the public address everywhere, also in its own form", async () => {
    const metadata = await (await fetchBehind("/.well-known/oauth-authorization-server")).json<{ issuer: string }>();
    expect(metadata).toMatchObject({ issuer: PUBLIC, token_endpoint: `${PUBLIC}/oauth/token` });
    const resource = await fetchBehind("/.well-known/oauth-protected-resource/mcp");
    expect(await resource.json()).toMatchObject({ resource: `${PUBLIC}/mcp`, authorization_servers: [PUBLIC] });
    const refused = await fetchBehind("/threads/search", { method: "POST", body: "{}" });
    expect(refused.headers.get("www-authenticate")).toContain(`${PUBLIC}/.well-known/oauth-protected-resource`);

    const caller = await newCaller();
    const asked = request(await newClient(), { resource: `${PUBLIC}/mcp` });
    const answer = (fields: Record<string, unknown>, origin: string, cookie = "") => {
      const body = new URLSearchParams({ ...asked, ...fields } as Record<string, string>);
      return fetchBehind("/oauth/authorize", { method: "POST", body, headers: { origin, cookie } });
    };
    const key = { step: "key", api_key: caller.key };
    expect((await answer(key, "http://inner:8787")).status).toBe(400);
    const signedIn = await answer(key, PUBLIC);
    expect(signedIn.status).toBe(303);
    const cookie = signedIn.headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(/^__Host-.*; Secure/i);
    const [pair = ""] = cookie.split(";");
    const page = await fetchBehind(signedIn.headers.get("location") ?? "", { headers: { cookie: pair } });
    const proof = /name="proof" value="([^"]+)"/.exec(await page.text())?.[1];
    const allowed = await answer({ step: "allow", grant: "read", proof }, PUBLIC, pair);
    const { searchParams } = new URL(allowed.headers.get("location") ?? "");
    expect([searchParams.get("iss"), searchParams.get("error")]).toEqual([PUBLIC, null]);
    expect(searchParams.get("code")).toBeTruthy();
  });
});
