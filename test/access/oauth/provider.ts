/** A stand-in OpenID provider, which answers the Worker's outgoing requests, and a browser that goes there and back. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, vi } from "vitest";
import { app } from "../../support/app.ts";
import { ORIGIN } from "./person.ts";

export const ISSUER = "https://id.example";
const ALGORITHM = {
  name: "RSASSA-PKCS1-v1_5",
  hash: "SHA-256",
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
};

const newKeys = async () => (await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"])) as CryptoKeyPair;
let keys: Promise<CryptoKeyPair> | undefined;
export const providerKeys = () => (keys ??= newKeys());
export const publicJwk = async () =>
  (await crypto.subtle.exportKey("jwk", (await providerKeys()).publicKey)) as JsonWebKey;

const base64url = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64url");
const part = (value: object) => base64url(new TextEncoder().encode(JSON.stringify(value)));

/** Signs a text for the last part of a token. */
type Sign = (text: string) => Promise<Uint8Array>;
export const signBy =
  (pair: CryptoKeyPair): Sign =>
  async (text) =>
    new Uint8Array(await crypto.subtle.sign(ALGORITHM.name, pair.privateKey, new TextEncoder().encode(text)));
export const stranger = newKeys;

/** What the provider says next. Each test begins with that of an honest one. */
export const provider = {
  claims: {} as Record<string, unknown>,
  header: {} as Record<string, unknown>,
  metadata: {} as Record<string, unknown>,
  sign: undefined as Sign | undefined,
  nonce: null as string | null,
  redeemed: undefined as URLSearchParams | undefined,
  /** What its UserInfo endpoint says. */
  info: {} as Record<string, unknown>,
  /** Who signs in with a code, and the nonce of their request, in place of `claims` and `nonce`. */
  people: new Map<string, { sub: string; nonce: string | null }>(),
};

async function idToken(): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const { nonce, claims, header } = provider;
  const person = provider.people.get(provider.redeemed?.get("code") ?? "");
  const said = { iss: ISSUER, aud: "weir", sub: "ann-1", iat: now, exp: now + 60, nonce, ...claims, ...person };
  const text = `${part({ alg: "RS256", kid: "1", ...header })}.${part(said)}`;
  const sign = provider.sign ?? signBy(await providerKeys());
  return `${text}.${base64url(await sign(text))}`;
}

async function answerRequest(address: string, init?: RequestInit): Promise<Response> {
  const { pathname, origin } = new URL(address);
  // Files share an isolate: webhooks that an earlier file left come here, too.
  if (origin !== ISSUER) return new Response();
  if (pathname === "/.well-known/openid-configuration") {
    return Response.json({
      issuer: ISSUER,
      authorization_endpoint: `${ISSUER}/authorize`,
      token_endpoint: `${ISSUER}/token`,
      jwks_uri: `${ISSUER}/keys`,
      ...provider.metadata,
    });
  }
  if (pathname === "/keys")
    return Response.json({ keys: [{ ...(await publicJwk()), kid: "1", use: "sig", alg: "RS256" }] });
  if (pathname === "/userinfo") return Response.json(provider.info);
  provider.redeemed = new URLSearchParams(init?.body as string);
  return Response.json({ access_token: "x", token_type: "Bearer", id_token: await idToken() });
}

/** Installs the provider for each test of the file. A failed attempt is answered at once. */
export function installProvider(): void {
  beforeEach(() => {
    const honest = {
      claims: {},
      header: {},
      metadata: {},
      sign: undefined,
      nonce: null,
      redeemed: undefined,
      info: {},
    };
    Object.assign(provider, honest);
    provider.people.clear();
    // A failed attempt is answered a second later (test/security/attempts-are-slow-and-noted.slow.test.ts): not here.
    const later = setTimeout;
    vi.spyOn(globalThis, "setTimeout").mockImplementation((work: () => void, ms?: number) =>
      later(work, ms === 1_000 ? 0 : ms),
    );
    // Why a provider's answer was not used is logged.
    vi.spyOn(console, "error").mockImplementation(() => {});
    vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) =>
      answerRequest(input instanceof Request ? input.url : input.toString(), init),
    );
  });
  afterEach(() => void vi.restoreAllMocks());
}

interface Going {
  method?: string;
  /** An object is sent as JSON. */
  body?: URLSearchParams | object;
  headers?: Record<string, string>;
}

/** A browser: it keeps cookies, and says where its requests come from. */
export class Visitor {
  cookies = new Map<string, string>();

  constructor(private readonly settings: Partial<Env> = {}) {}

  async go(path: string, { method, body, headers }: Going = {}): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const isForm = body instanceof URLSearchParams;
    const from = { origin: ORIGIN, "sec-fetch-site": "same-origin" };
    const json = body !== undefined && !isForm;
    const response = await app.fetch(
      new Request(ORIGIN + path, {
        method: method ?? (body ? "POST" : "GET"),
        body: json ? JSON.stringify(body) : body,
        headers: {
          cookie,
          "cf-connecting-ip": crypto.randomUUID(),
          ...(json && { "content-type": "application/json" }),
          ...from,
          ...headers,
        },
      }),
      { ...env, OIDC_ISSUER: ISSUER, OIDC_CLIENT_ID: "weir", OIDC_CLIENT_SECRET: "secret", ...this.settings },
      createExecutionContext(),
    );
    for (const set of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (value === "") this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return response;
  }

  /** From an answer that leads to the provider, as its person, and back. */
  async travel(away: Response, tamper: (back: URLSearchParams) => void = () => {}): Promise<Response> {
    const refresh = away.headers.get("refresh")?.replace(/^0; url=/, "");
    const there = new URL(away.headers.get("location") ?? refresh ?? "");
    if (there.origin + there.pathname !== `${ISSUER}/authorize`) throw new Error(`It leads to ${there.href}.`);
    if (there.searchParams.get("redirect_uri") !== `${ORIGIN}/oauth/openid/callback`)
      throw new Error("It returns elsewhere.");
    provider.nonce = there.searchParams.get("nonce");
    const back = new URLSearchParams({ code: "c", state: there.searchParams.get("state") ?? "" });
    tamper(back);
    // A redirect from the provider is a navigation from another site.
    const headers = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };
    return this.go(`/oauth/openid/callback?${back.toString()}`, { headers });
  }

  /** Signs in to the console. */
  async enter(query = ""): Promise<Response> {
    return this.travel(await this.go(`/oauth/openid/sign-in${query}`));
  }

  /** Accepts an invitation by its address, as a person does: the page, its button, the provider. */
  async accept(url: string): Promise<Response> {
    const { pathname, search, searchParams } = new URL(url);
    const page = await this.go(pathname + search);
    if (page.status !== 200) return page;
    const form = new URLSearchParams({ token: searchParams.get("token") ?? "" });
    const away = await this.go(pathname, { body: form });
    return away.status === 200 ? this.travel(away) : away;
  }
}
