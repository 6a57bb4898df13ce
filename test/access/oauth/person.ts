/** A client and a person in a browser, as far as the OAuth pages are concerned: cookies, forms, no redirects followed. */
import { type Caller, send, reach } from "../../support/caller.ts";

export const ORIGIN = "https://weir.test";
export const CALLBACK = "http://127.0.0.1/cb";
/** RFC 7636 appendix B. */
export const VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
export const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/** The answer, if it is the one that the story needs. */
async function expectStatus(response: Response, status: number): Promise<Response> {
  if (response.status === status) return response;
  throw new Error(`Expected ${status}, got ${response.status}: ${await response.text()}`);
}

type Fields = Record<string, string | string[] | undefined>;

export interface Tokens {
  access_token: string;
  refresh_token: string;
  scope: string;
  expires_in: number;
  token_type: string;
  workspace_id: string;
}

function encode(fields: Fields): URLSearchParams {
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    for (const one of [value ?? []].flat()) all.append(name, one);
  }
  return all;
}

/** Registers a client; more metadata may be given. */
export async function newClient(metadata: object = {}): Promise<string> {
  const response = await send("/oauth/register", {
    body: {
      client_name: "Test client",
      redirect_uris: [CALLBACK],
      grant_types: ["authorization_code", "refresh_token"],
      ...metadata,
    },
    headers: { "cf-connecting-ip": crypto.randomUUID() },
  });
  return (await (await expectStatus(response, 201)).json<{ client_id: string }>()).client_id;
}

/** A good authorization request of `client`; `changes` override, undefined removes. */
export function request(client: string, changes: Fields = {}): Fields {
  return {
    response_type: "code",
    client_id: client,
    redirect_uri: CALLBACK,
    code_challenge: CHALLENGE,
    code_challenge_method: "S256",
    scope: "read write",
    state: "st&te",
    ...changes,
  };
}

export class Browser {
  cookie = "";

  async go(
    path: string,
    init: Omit<RequestInit, "headers"> & { headers?: Record<string, string> } = {},
  ): Promise<Response> {
    const headers = {
      "cf-connecting-ip": crypto.randomUUID(),
      ...(this.cookie ? { cookie: this.cookie } : {}),
      ...init.headers,
    };
    const response = await reach(new Request(ORIGIN + path, { redirect: "manual", ...init, headers }));
    const set = response.headers.get("set-cookie");
    if (set) this.cookie = /max-age=0/i.test(set) ? "" : (set.split(";")[0] ?? "");
    return response;
  }

  open(fields: Fields): Promise<Response> {
    return this.go(`/oauth/authorize?${encode(fields).toString()}`);
  }

  submit(fields: Fields, headers: Record<string, string> = { origin: ORIGIN }): Promise<Response> {
    return this.go("/oauth/authorize", { method: "POST", body: encode(fields), headers });
  }

  async signIn(fields: Fields, key: string): Promise<void> {
    const response = await this.submit({ ...fields, step: "key", api_key: key });
    await expectStatus(response, 303);
  }

  /** Signs in and opens the consent page; returns what its form sends for "Allow". */
  async consentForm(fields: Fields, key: string): Promise<Fields> {
    await this.signIn(fields, key);
    const page = await (await this.open(fields)).text();
    const values = [...page.matchAll(/name="grant" value="(\w+)"/g)].map(([, scope]) => scope ?? "");
    return { ...fields, proof: /name="proof" value="([^"]+)"/.exec(page)?.[1], grant: values, step: "allow" };
  }

  /** The whole way to a code. */
  async allow(fields: Fields, caller: Caller): Promise<string> {
    const response = await this.submit(await this.consentForm(fields, caller.key));
    const answer = new URL((await expectStatus(response, 303)).headers.get("location") ?? "");
    return answer.searchParams.get("code") ?? "";
  }
}

/** A form, from an address of its own unless one is given. */
export async function post(path: string, fields: Fields, address: string = crypto.randomUUID()): Promise<Response> {
  const headers = { "cf-connecting-ip": address };
  return reach(new Request(ORIGIN + path, { method: "POST", body: encode(fields), headers }));
}

/** A good exchange of `code`; `changes` override, undefined removes. */
export function redeem(client: string, code: string, changes: Fields = {}): Promise<Response> {
  return post("/oauth/token", {
    grant_type: "authorization_code",
    client_id: client,
    code,
    redirect_uri: CALLBACK,
    code_verifier: VERIFIER,
    ...changes,
  });
}

export function refresh(client: string, token: string, changes: Fields = {}): Promise<Response> {
  return post("/oauth/token", { grant_type: "refresh_token", client_id: client, refresh_token: token, ...changes });
}

/** Tokens of a new client that `caller` allowed. */
export async function newTokens(caller: Caller, changes: Fields = {}): Promise<Tokens & { client: string }> {
  const client = await newClient();
  const code = await new Browser().allow(request(client, changes), caller);
  const response = await redeem(client, code, { resource: changes.resource });
  return { ...(await (await expectStatus(response, 200)).json<Tokens>()), client };
}

/** A call with an access token, in the workspace it is for. */
export function withToken(path: string, token: string, tenant?: string, method = "GET"): Promise<Response> {
  return send(path, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(tenant === undefined ? {} : { "x-tenant-id": tenant }) },
  });
}

export async function readError(response: Response): Promise<[status: number, error: string]> {
  const { error } = await response.json<{ error: string }>();
  return [response.status, error];
}
