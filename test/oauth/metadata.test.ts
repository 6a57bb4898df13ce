import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { app } from "../support/app.ts";
import { newCaller, send } from "../support/caller.ts";
import { newClient, request } from "./person.ts";

it("lists where to register, sign in and get tokens", async () => {
  const response = await send("/.well-known/oauth-authorization-server");
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({
    issuer: "https://weir.test",
    authorization_endpoint: "https://weir.test/oauth/authorize",
    token_endpoint: "https://weir.test/oauth/token",
    registration_endpoint: "https://weir.test/oauth/register",
    revocation_endpoint: "https://weir.test/oauth/revoke",
    response_types_supported: ["code"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
    scopes_supported: ["read", "write", "exports", "admin"],
  });
});

it.each([
  ["", "https://weir.test"],
  ["/", "https://weir.test"],
  ["/mcp", "https://weir.test/mcp"],
])("describes the resource at %j", async (path, resource) => {
  const response = await send(`/.well-known/oauth-protected-resource${path}`);
  expect(await response.json()).toMatchObject({ resource, authorization_servers: ["https://weir.test"] });
});

it("has no other resource", async () => {
  expect((await send("/.well-known/oauth-protected-resource/elsewhere")).status).toBe(404);
});

describe("behind a proxy", () => {
  const PUBLIC = "https://public.example";
  const behind = (path: string, init: RequestInit = {}) =>
    app.fetch(
      new Request(`http://inner:8787${path}`, { redirect: "manual", ...init }),
      { ...env, PUBLIC_URL: `${PUBLIC}/` },
      createExecutionContext(),
    );

  it("names the public address everywhere, also in its own form", async () => {
    const metadata = await (await behind("/.well-known/oauth-authorization-server")).json<{ issuer: string }>();
    expect(metadata).toMatchObject({ issuer: PUBLIC, token_endpoint: `${PUBLIC}/oauth/token` });
    const resource = await behind("/.well-known/oauth-protected-resource/mcp");
    expect(await resource.json()).toMatchObject({ resource: `${PUBLIC}/mcp`, authorization_servers: [PUBLIC] });
    const refused = await behind("/threads/search", { method: "POST", body: "{}" });
    expect(refused.headers.get("www-authenticate")).toContain(`${PUBLIC}/.well-known/oauth-protected-resource`);

    const caller = await newCaller();
    const asked = request(await newClient(), { resource: `${PUBLIC}/mcp` });
    const answer = (fields: Record<string, unknown>, origin: string, cookie = "") => {
      const body = new URLSearchParams({ ...asked, ...fields } as Record<string, string>);
      return behind("/oauth/authorize", { method: "POST", body, headers: { origin, cookie } });
    };
    const key = { step: "key", api_key: caller.key };
    expect((await answer(key, "http://inner:8787")).status).toBe(400);
    const signedIn = await answer(key, PUBLIC);
    expect(signedIn.status).toBe(303);
    const cookie = signedIn.headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(/^__Host-.*; Secure/i);
    const [pair = ""] = cookie.split(";");
    const page = await behind(signedIn.headers.get("location") ?? "", { headers: { cookie: pair } });
    const proof = /name="proof" value="([^"]+)"/.exec(await page.text())?.[1];
    const allowed = await answer({ step: "allow", grant: "read", proof }, PUBLIC, pair);
    const { searchParams } = new URL(allowed.headers.get("location") ?? "");
    expect([searchParams.get("iss"), searchParams.get("error")]).toEqual([PUBLIC, null]);
    expect(searchParams.get("code")).toBeTruthy();
  });
});
