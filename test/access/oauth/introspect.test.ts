/** `POST /oauth/introspect` (RFC 7662). */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { sha256 } from "../../../src/lib/crypto.ts";
import { PERMISSIONS } from "../../../src/http/principal.ts";
import { type Caller, newCaller, send } from "../../support/caller.ts";
import { newTokens, post, refresh, type Tokens } from "./person.ts";

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

const READING = Object.entries(PERMISSIONS).flatMap(([permission, scope]) => (scope === "read" ? [permission] : []));
const FORM = { "content-type": "application/x-www-form-urlencoded" };
const ask = (token: string, headers: Record<string, string> = { "x-api-key": caller.key }) =>
  send("/oauth/introspect", { body: new URLSearchParams({ token }).toString(), headers: { ...FORM, ...headers } });
const readTold = async (token: string, headers?: Record<string, string>) => (await ask(token, headers)).json();

describe("an access token", () => {
  it("is described: what it may do, where, for whom, until when", async () => {
    const now = Date.now() / 1000;
    const { access_token, client } = await newTokens(caller, { scope: "read", resource: "https://weir.test/mcp" });
    const response = await ask(access_token);
    expect([response.status, response.headers.get("cache-control")]).toEqual([200, "no-store"]);
    const { exp, ...rest } = await response.json<{ exp: number }>();
    expect(rest).toEqual({
      active: true,
      scope: "read",
      permissions: READING,
      client_id: client,
      token_type: "Bearer",
      sub: expect.any(String),
      aud: "https://weir.test/mcp",
      iss: "https://weir.test",
      workspace_id: caller.workspaceId,
    });
    expect(exp).toBeGreaterThan(now);
    expect(exp).toBeLessThanOrEqual(now + 3700);
  });

  it("is described to itself, and to another token of its workspace", async () => {
    const [one, other] = [await newTokens(caller), await newTokens(caller)];
    for (const { access_token } of [one, other]) {
      const answer = await readTold(one.access_token, { authorization: `Bearer ${access_token}` });
      expect(answer).toMatchObject({ active: true, client_id: one.client, aud: "https://weir.test" });
    }
  });

  it("has the scopes of its own, not those of its grant", async () => {
    const { client, refresh_token } = await newTokens(caller, { scope: "read write" });
    const narrow = await (await refresh(client, refresh_token, { scope: "read" })).json<Tokens>();
    expect(await readTold(narrow.access_token)).toMatchObject({ active: true, scope: "read" });
  });

  it("may do no more than the role of its person's key", async () => {
    const roles = "/api/v1/roles/of-a-person";
    const put = (permissions: string[]) => caller.fetch(roles, { method: "PUT", body: { permissions } });
    await put(["traces.read", "threads.read", "runs.create"]);
    const made = await caller.fetch("/api/v1/api-keys", { body: { role: "of-a-person", scopes: ["read", "write"] } });
    const { key } = await made.json<{ key: string }>();
    const { access_token } = await newTokens({ ...caller, key }, { scope: "read write" });
    const answer = async () => (await ask(access_token)).json();
    expect(await answer()).toMatchObject({
      scope: "read write",
      permissions: ["threads.read", "traces.read", "runs.create"],
    });
    await put(["traces.read"]);
    expect(await answer()).toMatchObject({ active: true, scope: "read", permissions: ["traces.read"] });
    await put(["keys.manage"]);
    expect(await answer()).toMatchObject({ active: true, scope: "", permissions: [] });
  });

  it("ends with its grant", async () => {
    const until = Math.floor(Date.now() / 1000) + 60;
    const { access_token } = await newTokens(caller);
    const expire =
      "update oauth_grants set expires_at = ? where id = (select grant_id from oauth_tokens where hash = ?)";
    await env.DB.prepare(expire)
      .bind(until * 1000, sha256(access_token))
      .run();
    expect(await readTold(access_token)).toMatchObject({ active: true, exp: until });
    await env.DB.prepare(expire)
      .bind(Date.now() - 1, sha256(access_token))
      .run();
    expect(await readTold(access_token)).toEqual({ active: false });
  });
});

describe("nothing is said about", () => {
  it("a token of another workspace", async () => {
    const { access_token } = await newTokens(await newCaller());
    expect(await readTold(access_token)).toEqual({ active: false });
  });

  it("a token that was revoked or has expired", async () => {
    const { access_token, client } = await newTokens(caller);
    await post("/oauth/revoke", { token: access_token, client_id: client });
    const old = (await newTokens(caller)).access_token;
    const expire = env.DB.prepare("update oauth_tokens set expires_at = ? where hash = ?");
    await expire.bind(Date.now() - 1, sha256(old)).run();
    for (const token of [access_token, old]) expect(await readTold(token)).toEqual({ active: false });
  });

  it("a refresh token, an API key, and what is no token", async () => {
    const { refresh_token } = await newTokens(caller);
    for (const token of [refresh_token, caller.key, "guess"]) expect(await readTold(token)).toEqual({ active: false });
  });
});

describe("a caller", () => {
  it("proves who it is, and may read", async () => {
    const { access_token } = await newTokens(caller);
    const refused = await ask(access_token, {});
    expect(refused.status).toBe(401);
    expect(refused.headers.get("www-authenticate")).toContain("Bearer");
    expect((await ask(access_token, { "x-api-key": "wrong" })).status).toBe(401);
    const made = await caller.fetch("/api/v1/api-keys", { body: { scopes: ["exports"] } });
    const { key } = await made.json<{ key: string }>();
    expect((await ask(access_token, { "x-api-key": key })).status).toBe(403);
  });

  it("sends one token, as a form", async () => {
    const call = (body: string, headers: Record<string, string>) =>
      caller.fetch("/oauth/introspect", { body, headers });
    for (const answer of [
      await call("", FORM),
      await call("token=a&token=b", FORM),
      await call('{"token":"a"}', { "content-type": "application/json" }),
    ]) {
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ error: "invalid_request" });
    }
    expect((await call(`token=${"x".repeat(40_000)}`, FORM)).status).toBe(413);
    expect((await caller.fetch("/oauth/introspect")).status).toBe(405);
  });
});
