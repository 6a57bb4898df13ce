/** Attacks that have worked on other servers (reference: OAuth security history, RFC 9700), each as a test. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { newCaller, send } from "../../support/caller.ts";
import {
  Browser,
  CALLBACK,
  CHALLENGE,
  readError,
  newClient,
  newTokens,
  ORIGIN,
  post,
  redeem,
  refresh,
  request,
  type Tokens,
  VERIFIER,
  withToken,
} from "./person.ts";

const works = async (token: string) => (await withToken("/assistants/search", token, undefined, "POST")).status === 200;

describe("a code", () => {
  it("works once; a replay ends what the first use gave", async () => {
    const client = await newClient();
    const code = await new Browser().allow(request(client), await newCaller());
    const tokens = await (await redeem(client, code)).json<Tokens>();
    expect(await works(tokens.access_token)).toBe(true);
    expect(await readError(await redeem(client, code))).toEqual([400, "invalid_grant"]);
    expect(await works(tokens.access_token)).toBe(false);
    expect(await readError(await refresh(client, tokens.refresh_token))).toEqual([400, "invalid_grant"]);
  });

  it("redeemed twenty times at once gives tokens at most once", async () => {
    const client = await newClient();
    const code = await new Browser().allow(request(client), await newCaller());
    const statuses = await Promise.all(Array.from({ length: 20 }, async () => (await redeem(client, code)).status));
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
  });

  it("of another client, address, verifier or resource is refused", async () => {
    const caller = await newCaller();
    const client = await newClient({ redirect_uris: [CALLBACK, "http://127.0.0.1/other"] });
    const thief = await newClient();
    const resource = `${ORIGIN}/mcp`;
    const code = await new Browser().allow(request(client, { resource }), caller);
    const grant = [400, "invalid_grant"];
    expect(await readError(await redeem(thief, code))).toEqual(grant);
    expect(await readError(await redeem(client, code, { redirect_uri: "http://127.0.0.1/other" }))).toEqual(grant);
    expect(await readError(await redeem(client, code, { redirect_uri: "http://127.0.0.1:9/cb" }))).toEqual(grant);
    expect(await readError(await redeem(client, code, { code_verifier: `${VERIFIER.slice(1)}x` }))).toEqual(grant);
    // The challenge itself as verifier: `plain` by the back door.
    expect(await readError(await redeem(client, code, { code_verifier: CHALLENGE }))).toEqual(grant);
    expect(await readError(await redeem(client, code, { code_verifier: "short" }))).toEqual(grant);
    expect(await readError(await redeem(client, code, { resource: ORIGIN }))).toEqual([400, "invalid_target"]);
    expect(await readError(await redeem(client, code, { resource: "https://evil.com/mcp" }))).toEqual([
      400,
      "invalid_target",
    ]);
    const missing = [400, "invalid_request"];
    for (const name of ["code", "code_verifier", "redirect_uri", "client_id", "grant_type"]) {
      expect(await readError(await redeem(client, code, { [name]: undefined }))).toEqual(missing);
    }
    expect(await readError(await redeem(client, code, { code: [code, code] }))).toEqual(missing);
    expect(await readError(await redeem("absent", code))).toEqual([401, "invalid_client"]);
    expect(await readError(await redeem(client, code, { grant_type: "password" }))).toEqual([
      400,
      "unsupported_grant_type",
    ]);
    // None of these spoiled it for its owner.
    expect((await redeem(client, code, { resource })).status).toBe(200);
  });

  it("is not a token, and a refresh token is not an access token", async () => {
    const caller = await newCaller();
    const tokens = await newTokens(caller);
    const code = await new Browser().allow(request(tokens.client), caller);
    for (const wrong of [code, tokens.refresh_token, caller.key, "", "x"]) expect(await works(wrong)).toBe(false);
    expect((await refresh(tokens.client, tokens.access_token)).status).toBe(400);
    expect((await send("/assistants/search", { body: {}, headers: { "x-api-key": tokens.access_token } })).status).toBe(
      401,
    );
  });
});

describe("what was used before and has expired since", () => {
  const expire = (table: string) =>
    env.DB.prepare(`update ${table} set expires_at = 1 where successor is not null`).run();

  it("still gives a replayed code away", async () => {
    const client = await newClient();
    const code = await new Browser().allow(request(client), await newCaller());
    const tokens = await (await redeem(client, code)).json<Tokens>();
    await expire("oauth_codes");
    await redeem(client, code);
    expect(await works(tokens.access_token)).toBe(false);
  });

  it("still gives a replayed refresh token away", async () => {
    const first = await newTokens(await newCaller());
    const second = await (await refresh(first.client, first.refresh_token)).json<Tokens>();
    const third = await (await refresh(first.client, second.refresh_token)).json<Tokens>();
    await expire("oauth_tokens");
    await refresh(first.client, first.refresh_token);
    expect(await works(third.access_token)).toBe(false);
  });

  it("and what has expired unused is refused", async () => {
    const caller = await newCaller();
    const { client, refresh_token } = await newTokens(caller);
    const code = await new Browser().allow(request(client), caller);
    await env.DB.batch([
      env.DB.prepare("update oauth_codes set expires_at = 1"),
      env.DB.prepare("update oauth_tokens set expires_at = 1"),
    ]);
    expect(await readError(await redeem(client, code))).toEqual([400, "invalid_grant"]);
    expect(await readError(await refresh(client, refresh_token))).toEqual([400, "invalid_grant"]);
  });
});

describe("PKCE", () => {
  const downgrades: [string, Record<string, string | undefined>][] = [
    ["no challenge", { code_challenge: undefined }],
    ["no challenge and no method", { code_challenge: undefined, code_challenge_method: undefined }],
    ["no method, which means plain", { code_challenge_method: undefined }],
    ["plain", { code_challenge_method: "plain", code_challenge: VERIFIER }],
    ["another method's case", { code_challenge_method: "s256" }],
    ["a challenge too short", { code_challenge: "x" }],
    ["a challenge of other characters", { code_challenge: `${CHALLENGE.slice(1)}=` }],
  ];
  it.each(downgrades)("cannot be left out: %s", async (_, changes) => {
    const client = await newClient();
    const browser = new Browser();
    const caller = await newCaller();
    const answer = await browser.open(request(client, changes));
    expect(answer.status).toBe(303);
    const back = new URL(answer.headers.get("location") ?? "");
    expect(back.searchParams.get("error")).toBe("invalid_request");
    // Nor by changing the request after the consent page was shown.
    const form = await browser.consentForm(request(client), caller.key);
    const changed = await browser.submit({ ...form, ...changes });
    expect(new URL(changed.headers.get("location") ?? ORIGIN).searchParams.has("code")).toBe(false);
  });
});

describe("the redirect address", () => {
  const wrong: (string | undefined)[] = [
    undefined,
    "http://127.0.0.1/cb/",
    "http://127.0.0.1/other",
    "http://localhost/cb",
    "https://127.0.0.1/cb",
    "http://127.0.0.1@evil.com/cb",
    "https://evil.com/cb",
    "javascript:alert(1)",
    "http://127.0.0.1/cb#x",
    "http://127.0.0.1/cb\r\nset-cookie:x",
  ];
  it.each(wrong)("%j is shown as an error and never followed", async (redirect_uri) => {
    const answer = await new Browser().open(request(await newClient(), { redirect_uri }));
    expect(answer.status).toBe(400);
    expect(answer.headers.get("location")).toBeNull();
    expect(await answer.text()).not.toMatch(/href|evil/);
  });

  it("is checked again with the person's answer", async () => {
    const caller = await newCaller();
    const browser = new Browser();
    const form = await browser.consentForm(request(await newClient()), caller.key);
    const answer = await browser.submit({ ...form, redirect_uri: "https://evil.com/cb" });
    expect([answer.status, answer.headers.get("location")]).toEqual([400, null]);
  });

  it("given twice, or a client given twice or unknown, is not followed", async () => {
    const client = await newClient();
    for (const changes of [
      { redirect_uri: [CALLBACK, CALLBACK] },
      { client_id: [client, client] },
      { client_id: "absent" },
      { client_id: undefined },
    ]) {
      const answer = await new Browser().open(request(client, changes));
      expect([answer.status, answer.headers.get("location")]).toEqual([400, null]);
    }
  });

  it("on the web is not reached by a faulty request alone, so this server is no open redirect", async () => {
    const redirect_uri = "https://phishing.example/cb";
    const client = await newClient({ redirect_uris: [redirect_uri] });
    const answer = await new Browser().open(request(client, { redirect_uri, scope: "nothing" }));
    expect([answer.status, answer.headers.get("location")]).toEqual([400, null]);
    expect(await answer.text()).toContain("error=invalid_scope");
  });

  const faults: [string, string, Record<string, string | string[] | undefined>][] = [
    ["unsupported_response_type", "token", { response_type: "token" }],
    ["unsupported_response_type", "no response type", { response_type: undefined }],
    ["invalid_request", "fragment mode", { response_mode: "fragment" }],
    ["invalid_scope", "no known scope", { scope: "openid" }],
    ["invalid_target", "another server", { resource: "https://evil.com/" }],
    ["invalid_target", "this server by user name", { resource: "https://weir.test@evil.com/" }],
    ["invalid_target", "with a fragment", { resource: `${ORIGIN}/mcp#x` }],
    ["invalid_target", "two resources", { resource: [`${ORIGIN}/mcp`, ORIGIN] }],
    ["invalid_target", "no address", { resource: "mcp" }],
    ["invalid_request", "two states", { state: ["a", "b"] }],
    ["invalid_request", "a huge state", { state: "x".repeat(5000) }],
  ];
  it.each(faults)("receives %s: %s", async (error, _, changes) => {
    const answer = await new Browser().open(request(await newClient(), changes));
    const back = new URL(answer.headers.get("location") ?? "");
    expect(back.searchParams.get("error")).toBe(error);
    expect(back.searchParams.get("iss")).toBe(ORIGIN);
  });
});

describe("refresh tokens", () => {
  it("used again revoke the whole family", async () => {
    const caller = await newCaller();
    const first = await newTokens(caller);
    const second = await (await refresh(first.client, first.refresh_token)).json<Tokens>();
    const third = await (await refresh(first.client, second.refresh_token)).json<Tokens>();
    expect(await works(third.access_token)).toBe(true);
    expect(await readError(await refresh(first.client, first.refresh_token))).toEqual([400, "invalid_grant"]);
    for (const { access_token } of [first, second, third]) expect(await works(access_token)).toBe(false);
    expect(await readError(await refresh(first.client, third.refresh_token))).toEqual([400, "invalid_grant"]);
  });

  it("used by twenty at once give successors of which one can be used", async () => {
    const { client, refresh_token } = await newTokens(await newCaller());
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () => (await refresh(client, refresh_token)).json<Tokens>()),
    );
    const statuses = await Promise.all(
      answers.map(async (tokens) => (await refresh(client, tokens.refresh_token)).status),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
  });

  it("of another client are refused and unharmed", async () => {
    const { client, refresh_token } = await newTokens(await newCaller());
    expect(await readError(await refresh(await newClient(), refresh_token))).toEqual([400, "invalid_grant"]);
    expect((await refresh(client, refresh_token, { resource: `${ORIGIN}/mcp` })).status).toBe(400);
    expect((await refresh(client, refresh_token)).status).toBe(200);
  });
});

describe("revocation", () => {
  it("by another client does nothing, and reveals nothing", async () => {
    const { client, access_token, refresh_token } = await newTokens(await newCaller());
    const thief = await newClient();
    for (const token of [access_token, refresh_token, "unknown"]) {
      expect((await post("/oauth/revoke", { token, client_id: thief })).status).toBe(200);
    }
    expect(await works(access_token)).toBe(true);
    expect(await readError(await post("/oauth/revoke", { token: access_token }))).toEqual([400, "invalid_request"]);
    expect((await post("/oauth/revoke", { token: access_token, client_id: client })).status).toBe(200);
    expect(await works(access_token)).toBe(false);
    expect((await refresh(client, refresh_token)).status).toBe(400);
  });
});

describe("malformed token requests", () => {
  it("are refused in OAuth's words", async () => {
    const client = await newClient();
    const json = await send("/oauth/token", { body: { grant_type: "authorization_code", client_id: client } });
    expect(await readError(json)).toEqual([400, "invalid_request"]);
    expect(await readError(await post("/oauth/token", { padding: "x".repeat(40_000) }))).toEqual([
      413,
      "invalid_request",
    ]);
    expect(await readError(await post("/oauth/revoke", {}))).toEqual([400, "invalid_request"]);
    for (const path of ["/oauth/token", "/oauth/revoke"]) {
      const answer = await send(path);
      expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
    }
    const browser = new Browser();
    const form = await browser.go("/oauth/authorize", {
      method: "POST",
      body: "{}",
      headers: { origin: ORIGIN, "content-type": "application/json" },
    });
    expect(form.status).toBe(400);
  });
});
