/** Makes a registered client, grants, tokens in each state, and an authorization code that is not redeemed. */
import { createHash } from "node:crypto";
import { allow } from "../../conformance/person.ts";
import type { Api } from "../../support/api.ts";
import type { OAuth } from "../manifest.ts";

interface Tokens {
  access_token: string;
  refresh_token: string;
}

const REDIRECT_URI = "http://127.0.0.1/callback";
const VERIFIER = "a-verifier-of-an-upgrade-fixture-with-enough-characters";

/** Sends a form to the token endpoint. */
export async function askTokens(url: string, form: Record<string, string>): Promise<Response> {
  return fetch(`${url}/oauth/token`, { method: "POST", body: new URLSearchParams(form) });
}

async function tokens(url: string, form: Record<string, string>): Promise<Tokens> {
  const response = await askTokens(url, form);
  if (!response.ok) throw new Error(`/oauth/token: ${response.status} ${await response.text()}`);
  return response.json<Tokens>();
}

export async function makeOAuth(api: Api, key: string): Promise<OAuth> {
  const { client_id: client } = await api.post<{ client_id: string }>("/oauth/register", {
    client_name: "Upgrade",
    redirect_uris: [REDIRECT_URI],
    grant_types: ["authorization_code", "refresh_token"],
  });
  const code = async () => {
    const address = new URL(`${api.url}/oauth/authorize`);
    address.search = new URLSearchParams({
      response_type: "code",
      client_id: client,
      redirect_uri: REDIRECT_URI,
      code_challenge: createHash("sha256").update(VERIFIER).digest("base64url"),
      code_challenge_method: "S256",
      scope: "read write",
      state: "s",
    }).toString();
    return (await allow(address, key)).searchParams.get("code") ?? "";
  };
  const redeem = async () =>
    tokens(api.url, {
      grant_type: "authorization_code",
      client_id: client,
      code: await code(),
      redirect_uri: REDIRECT_URI,
      code_verifier: VERIFIER,
    });
  const fresh = await redeem();
  const { refresh_token: old } = await redeem();
  const next = await tokens(api.url, { grant_type: "refresh_token", client_id: client, refresh_token: old });
  const revoked = await redeem();
  const form = new URLSearchParams({ token: revoked.refresh_token, client_id: client });
  await fetch(`${api.url}/oauth/revoke`, { method: "POST", body: form });
  const open = await code();
  const grants = await api.get<unknown[]>("/api/v1/grants");
  return {
    client,
    redirect_uri: REDIRECT_URI,
    verifier: VERIFIER,
    tokens: { access_token: fresh.access_token, refresh_token: fresh.refresh_token },
    rotated: { old, refresh_token: next.refresh_token },
    revoked: revoked.access_token,
    code: open,
    grants: grants.length,
  };
}
