/** OAuth discovery, registration and refusals, without a person. */
import assert from "node:assert/strict";
import * as client from "oauth4webapi";
import { type Check, NotRun, type Smoke } from "../suite.ts";

/** A server on this machine has no certificate. */
const insecure = { [client.allowInsecureRequests]: true };
const REDIRECT_URI = "http://127.0.0.1/callback";

async function discover(smoke: Smoke): Promise<client.AuthorizationServer> {
  const issuer = new URL(smoke.url);
  const response = await client.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure });
  return client.processDiscoveryResponse(issuer, response);
}

export const oauth: Check[] = [
  {
    name: "OAuth: discovery, from the protected resources to the authorization server",
    async run(smoke) {
      for (const path of ["", "/mcp"]) {
        const resource = new URL(smoke.url + path);
        const response = await client.resourceDiscoveryRequest(resource, insecure);
        const described = await client.processResourceDiscoveryResponse(resource, response);
        assert.deepEqual(described.authorization_servers, [smoke.url], "Set PUBLIC_URL to the address of callers");
      }
      const server = await discover(smoke);
      assert.deepEqual(server.code_challenge_methods_supported, ["S256"]);
    },
  },
  {
    name: "OAuth: registration, and the page that asks a person to sign in",
    async run(smoke) {
      const server = await discover(smoke);
      const metadata = { client_name: "Weir smoke suite", redirect_uris: [REDIRECT_URI] };
      const response = await client.dynamicClientRegistrationRequest(server, metadata, insecure);
      const { client_id } = await client.processDynamicClientRegistrationResponse(response);
      smoke.noteLeft(`the OAuth client ${client_id}, which the server removes after seven unused days`);
      const address = new URL(server.authorization_endpoint ?? "");
      address.search = new URLSearchParams({
        response_type: "code",
        client_id,
        redirect_uri: REDIRECT_URI,
        code_challenge: await client.calculatePKCECodeChallenge(client.generateRandomCodeVerifier()),
        code_challenge_method: "S256",
        scope: "read",
        state: client.generateRandomState(),
      }).toString();
      const page = await fetch(address, { redirect: "manual" });
      assert.equal(page.status, 200);
      assert.match(page.headers.get("content-type") ?? "", /^text\/html/);
      await page.text();
    },
  },
  {
    name: "OAuth: a dangerous redirect address and an unknown code are refused",
    async run(smoke) {
      const server = await discover(smoke);
      const bad = await smoke.send("POST", "/oauth/register", { redirect_uris: ["javascript:alert(1)"] });
      assert.equal(bad.status, 400);
      assert.equal((await bad.json<{ error: string }>()).error, "invalid_redirect_uri");
      const token = await fetch(server.token_endpoint ?? "", {
        method: "POST",
        body: new URLSearchParams({ grant_type: "authorization_code", client_id: "absent", code: "none" }),
      });
      if (token.status === 429) throw new NotRun("the address has made too many such calls in the last minute");
      assert.equal((await token.json<{ error: string }>()).error, "invalid_client");
    },
  },
];
