/** Signing in through an external OpenID provider: a made-up one answers the Worker's outgoing requests. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { app } from "../support/app.ts";
import { newCaller } from "../support/caller.ts";
import { CALLBACK, newClient, ORIGIN, redeem, request, type Tokens } from "./person.ts";

const ISSUER = "https://id.example";
const part = (value: object) =>
  btoa(JSON.stringify(value)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

let workspaceId: string;
/** The claims that the provider's next ID token has, in addition to those that the protocol requires. */
let claims: Record<string, unknown>;
let nonce: string | null;
let redeemed: URLSearchParams | undefined;

beforeEach(async () => {
  workspaceId = (await newCaller()).workspaceId;
  claims = { email: "Ann@Example.com", email_verified: true };
  redeemed = undefined;
  // A failed attempt is answered a second later (test/security/attempts-are-slow-and-noted.test.ts): not here.
  const later = setTimeout;
  vi.spyOn(globalThis, "setTimeout").mockImplementation((work: () => void, ms?: number) =>
    later(work, ms === 1_000 ? 0 : ms),
  );
  // Why a provider's answer was not used is logged.
  vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const address = input instanceof Request ? input.url : input.toString();
    if (address === `${ISSUER}/.well-known/openid-configuration`) {
      return Response.json({
        issuer: ISSUER,
        authorization_endpoint: `${ISSUER}/authorize`,
        token_endpoint: `${ISSUER}/token`,
        jwks_uri: `${ISSUER}/keys`,
      });
    }
    redeemed = new URLSearchParams(init?.body as string);
    const now = Math.floor(Date.now() / 1000);
    const token = { iss: ISSUER, aud: "weir", sub: "ann-1", iat: now, exp: now + 60, nonce, ...claims };
    const id_token = `${part({ alg: "RS256", kid: "1" })}.${part(token)}.${part({})}`;
    return Response.json({ access_token: "x", token_type: "Bearer", id_token });
  });
});
afterEach(() => vi.restoreAllMocks());

class Visitor {
  cookies = new Map<string, string>();

  async go(path: string, form?: URLSearchParams): Promise<Response> {
    const members = {
      "ann@example.com": { workspace: workspaceId, scopes: ["read"] },
      "@crew.example": { workspace: workspaceId },
    };
    const settings = {
      OIDC_ISSUER: ISSUER,
      OIDC_CLIENT_ID: "weir",
      OIDC_CLIENT_SECRET: "secret",
      OIDC_MEMBERS: JSON.stringify(members),
    };
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await app.fetch(
      new Request(ORIGIN + path, { method: form ? "POST" : "GET", body: form, headers: { cookie, origin: ORIGIN } }),
      { ...env, ...settings },
      createExecutionContext(),
    );
    for (const set of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (value === "") this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return response;
  }
}

/** To the provider and back; returns the answer to the provider's redirect. */
async function travel(visitor: Visitor, asked: URLSearchParams, tamper: (back: URLSearchParams) => void = () => {}) {
  const away = await visitor.go(`/oauth/openid/start?${asked.toString()}`);
  expect(away.status).toBe(303);
  const there = new URL(away.headers.get("location") ?? "");
  expect(there.origin + there.pathname).toBe(`${ISSUER}/authorize`);
  expect(there.searchParams.get("redirect_uri")).toBe(`${ORIGIN}/oauth/openid/callback`);
  nonce = there.searchParams.get("nonce");
  const back = new URLSearchParams({ code: "c", state: there.searchParams.get("state") ?? "" });
  tamper(back);
  return visitor.go(`/oauth/openid/callback?${back.toString()}`);
}

async function ask(): Promise<URLSearchParams> {
  return new URLSearchParams(request(await newClient(), { scope: "read write admin" }) as Record<string, string>);
}

it("leads to the consent page with the scopes of the member", async () => {
  const visitor = new Visitor();
  const asked = await ask();
  expect(await (await visitor.go(`/oauth/authorize?${asked.toString()}`)).text()).toContain("Sign in with id.example");
  const answer = await travel(visitor, asked);
  expect(answer.status).toBe(303);
  expect(redeemed?.get("client_secret")).toBe("secret");
  expect(redeemed?.get("code_verifier")).toMatch(/^[\w-]{43}$/);

  const page = await (await visitor.go(answer.headers.get("location") ?? "")).text();
  const form = new URLSearchParams(asked);
  form.set("proof", /name="proof" value="([^"]+)"/.exec(page)?.[1] ?? "");
  form.set("step", "allow");
  for (const scope of ["read", "write", "admin"]) form.append("grant", scope);
  const back = new URL((await visitor.go("/oauth/authorize", form)).headers.get("location") ?? "");
  expect(back.href.startsWith(CALLBACK)).toBe(true);
  const response = await redeem(asked.get("client_id") ?? "", back.searchParams.get("code") ?? "");
  expect(await response.json<Tokens>()).toMatchObject({ scope: "read", workspace_id: workspaceId });
});

it("accepts members by the domain of their address", async () => {
  claims = { email: "bob@crew.example", email_verified: true };
  expect((await travel(new Visitor(), await ask())).headers.get("location")).toContain("/oauth/authorize?");
});

const refusals: [string, Record<string, unknown>][] = [
  ["a person who is no member", { email: "eve@evil.com", email_verified: true }],
  ["an address of a domain with a similar end", { email: "eve@evilcrew.example", email_verified: true }],
  ["a domain in the name", { email: "ann@example.com@evil.com", email_verified: true }],
  ["a name of the prototype", { email: "__proto__", email_verified: true }],
  ["an address that is not verified", { email: "ann@example.com", email_verified: false }],
  ["no address", {}],
  ["another nonce", { email: "ann@example.com", email_verified: true, nonce: "other" }],
  ["another issuer", { email: "ann@example.com", email_verified: true, iss: "https://evil.com" }],
  ["a token for another person", { email: "ann@example.com", email_verified: true, aud: "other" }],
  ["a token that has expired", { email: "ann@example.com", email_verified: true, exp: 1 }],
];
it.each(refusals)("refuses %s", async (_, given) => {
  claims = given;
  const visitor = new Visitor();
  const answer = await travel(visitor, await ask());
  expect([answer.status, answer.headers.get("location")]).toEqual([400, null]);
  expect([...visitor.cookies.keys()]).toEqual([]);
});

it("refuses an answer that this browser did not request, and one used before", async () => {
  const visitor = new Visitor();
  const asked = await ask();
  expect((await travel(visitor, asked, (back) => back.set("state", "other"))).status).toBe(400);
  expect((await travel(visitor, asked, (back) => back.set("error", "access_denied"))).status).toBe(400);
  expect((await new Visitor().go("/oauth/openid/callback?code=c&state=s")).status).toBe(400);
  expect(redeemed).toBeUndefined();
  expect((await travel(visitor, asked)).status).toBe(303);
  expect((await visitor.go("/oauth/openid/callback?code=c&state=s")).status).toBe(400);
});

it("says so when the provider cannot be reached", async () => {
  vi.spyOn(globalThis, "fetch").mockRejectedValue(new TypeError("unreachable"));
  const answer = await new Visitor().go(`/oauth/openid/start?${(await ask()).toString()}`);
  expect(answer.status).toBe(400);
  expect(await answer.text()).toContain("could not be used");
});
