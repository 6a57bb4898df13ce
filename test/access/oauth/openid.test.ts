/** Signing in through an external OpenID provider on the consent page: a stand-in answers the Worker's outgoing requests. */
import { beforeEach, expect, it, vi } from "vitest";
import { newCaller } from "../../support/caller.ts";
import { CALLBACK, newClient, redeem, request, type Tokens } from "./person.ts";
import { installProvider, provider, publicJwk, signBy, stranger, Visitor as AnyVisitor } from "./provider.ts";

let workspaceId: string;
installProvider();
beforeEach(async () => {
  workspaceId = (await newCaller()).workspaceId;
  provider.claims = { email: "Ann@Example.com", email_verified: true };
});

class Visitor extends AnyVisitor {
  constructor() {
    const members = {
      "ann@example.com": { workspace: workspaceId, scopes: ["read"] },
      "@crew.example": { workspace: workspaceId, scopes: ["read", "admin"] },
    };
    super({ OIDC_MEMBERS: JSON.stringify(members) });
  }
}

/** To the provider and back; returns the answer to the provider's redirect. */
async function travel(visitor: Visitor, asked: URLSearchParams, tamper?: (back: URLSearchParams) => void) {
  const away = await visitor.go(`/oauth/openid/start?${asked.toString()}`);
  expect(away.status).toBe(303);
  return visitor.travel(away, tamper);
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
  expect(provider.redeemed?.get("client_secret")).toBe("secret");
  expect(provider.redeemed?.get("code_verifier")).toMatch(/^[\w-]{43}$/);

  const page = await (await visitor.go(answer.headers.get("location") ?? "")).text();
  const form = new URLSearchParams(asked);
  form.set("proof", /name="proof" value="([^"]+)"/.exec(page)?.[1] ?? "");
  form.set("step", "allow");
  for (const scope of ["read", "write", "admin"]) form.append("grant", scope);
  const back = new URL((await visitor.go("/oauth/authorize", { body: form })).headers.get("location") ?? "");
  expect(back.href.startsWith(CALLBACK)).toBe(true);
  const response = await redeem(asked.get("client_id") ?? "", back.searchParams.get("code") ?? "");
  expect(await response.json<Tokens>()).toMatchObject({ scope: "read", workspace_id: workspaceId });
});

it("accepts members by the domain of their address, which makes no admin", async () => {
  provider.claims = { email: "bob@crew.example", email_verified: true };
  const visitor = new Visitor();
  const answer = await travel(visitor, await ask());
  expect(answer.headers.get("location")).toContain("/oauth/authorize?");
  const page = await (await visitor.go(answer.headers.get("location") ?? "")).text();
  expect([...page.matchAll(/name="grant" value="(\w+)"/g)].map(([, scope]) => scope)).toEqual(["read"]);
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
  provider.claims = given;
  const visitor = new Visitor();
  const answer = await travel(visitor, await ask());
  expect([answer.status, answer.headers.get("location")]).toEqual([400, null]);
  expect([...visitor.cookies.keys()]).toEqual([]);
});

it.each<[what: string, forge: () => Promise<void>]>([
  [
    "signed with another key",
    async () => {
      provider.sign = signBy(await stranger());
    },
  ],
  [
    "without a signature",
    async () => {
      provider.header = { alg: "none" };
      provider.sign = async () => new Uint8Array();
    },
  ],
  [
    "without a signature, where the provider says it sends such",
    async () => {
      provider.header = { alg: "none" };
      provider.metadata = { id_token_signing_alg_values_supported: ["none", "RS256"] };
      provider.sign = async () => new Uint8Array();
    },
  ],
  [
    "signed with the public key as a secret",
    async () => {
      provider.header = { alg: "HS256" };
      provider.metadata = { id_token_signing_alg_values_supported: ["HS256", "RS256"] };
      const secret = new TextEncoder().encode(JSON.stringify(await publicJwk()));
      const hmac = { name: "HMAC", hash: "SHA-256" };
      const key = await crypto.subtle.importKey("raw", secret, hmac, false, ["sign"]);
      provider.sign = async (text) =>
        new Uint8Array(await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(text)));
    },
  ],
  [
    "signed with a key that the token itself brings",
    async () => {
      const own = await stranger();
      provider.header = { kid: "own", jwk: await crypto.subtle.exportKey("jwk", own.publicKey) };
      provider.sign = signBy(own);
    },
  ],
])("refuses an ID token %s", async (_, forge) => {
  await forge();
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
  expect(provider.redeemed).toBeUndefined();
  expect((await travel(visitor, asked)).status).toBe(303);
  expect((await visitor.go("/oauth/openid/callback?code=c&state=s")).status).toBe(400);
});

it("says so when the provider cannot be reached", async () => {
  vi.spyOn(globalThis, "fetch").mockRejectedValue(new TypeError("unreachable"));
  const answer = await new Visitor().go(`/oauth/openid/start?${(await ask()).toString()}`);
  expect(answer.status).toBe(400);
  expect(await answer.text()).toContain("could not be used");
});
