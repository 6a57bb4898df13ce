/** The oauth4webapi client, which validates every answer by the RFCs. */
import * as oauth from "oauth4webapi";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";
import { allow } from "./person.ts";

const REDIRECT = "http://127.0.0.1:4321/callback";
/** The server under test has no certificate. */
const insecure = { [oauth.allowInsecureRequests]: true };

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer();
});
afterAll(() => server.stop());

it("goes from a 401 to tokens, refreshes, revokes", async () => {
  const refused = await fetch(`${server.url}/assistants/search`, { method: "POST" });
  expect(refused.status).toBe(401);
  const guide = /resource_metadata="([^"]+)"/.exec(refused.headers.get("www-authenticate") ?? "")?.[1];
  expect(guide).toBe(`${server.url}/.well-known/oauth-protected-resource`);

  const resource = new URL(server.url);
  const described = await oauth.processResourceDiscoveryResponse(
    resource,
    await oauth.resourceDiscoveryRequest(resource, insecure),
  );
  const issuer = new URL(described.authorization_servers?.[0] ?? "");
  const as = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure }),
  );

  const client = await oauth.processDynamicClientRegistrationResponse(
    await oauth.dynamicClientRegistrationRequest(
      as,
      {
        client_name: "oauth4webapi",
        redirect_uris: [REDIRECT],
        grant_types: ["authorization_code", "refresh_token"],
        token_endpoint_auth_method: "none",
      },
      insecure,
    ),
  );

  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const address = new URL(as.authorization_endpoint ?? "");
  address.search = new URLSearchParams({
    response_type: "code",
    client_id: client.client_id,
    redirect_uri: REDIRECT,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    scope: "read write",
    state,
  }).toString();
  const back = oauth.validateAuthResponse(as, client, await allow(address, server.key), state);

  const tokens = await oauth.processAuthorizationCodeResponse(
    as,
    client,
    await oauth.authorizationCodeGrantRequest(as, client, oauth.None(), back, REDIRECT, verifier, insecure),
  );
  const call = (token: string) =>
    oauth.protectedResourceRequest(
      token,
      "POST",
      new URL(`${server.url}/assistants/search`),
      new Headers({ "content-type": "application/json" }),
      "{}",
      insecure,
    );
  expect((await call(tokens.access_token)).status).toBe(200);

  const fresh = await oauth.processRefreshTokenResponse(
    as,
    client,
    await oauth.refreshTokenGrantRequest(as, client, oauth.None(), tokens.refresh_token ?? "", insecure),
  );
  expect((await call(fresh.access_token)).status).toBe(200);

  const describeToken = async () =>
    oauth.processIntrospectionResponse(
      as,
      client,
      await oauth.introspectionRequest(as, client, oauth.None(), tokens.access_token, {
        ...insecure,
        headers: { "x-api-key": server.key },
      }),
    );
  expect(await describeToken()).toMatchObject({ active: true, client_id: client.client_id, scope: "read write" });

  await oauth.processRevocationResponse(
    await oauth.revocationRequest(as, client, oauth.None(), fresh.refresh_token ?? "", insecure),
  );
  expect(await describeToken()).toEqual({ active: false });
  await expect(call(fresh.access_token)).rejects.toThrow(oauth.WWWAuthenticateChallengeError);
  const late = await oauth.refreshTokenGrantRequest(as, client, oauth.None(), fresh.refresh_token ?? "", insecure);
  await expect(oauth.processRefreshTokenResponse(as, client, late)).rejects.toMatchObject({ error: "invalid_grant" });
});

it.each(["/mcp", "/a2a/echo", "/agui/echo"])("goes from a 401 of %s to its metadata and the server's", async (path) => {
  const resource = new URL(server.url + path);
  const refused = await fetch(resource, { method: "POST" });
  const found = /resource_metadata="([^"]+)"/.exec(refused.headers.get("www-authenticate") ?? "")?.[1];
  const answer = await oauth.resourceDiscoveryRequest(resource, insecure);
  expect(answer.url).toBe(found);
  const described = await oauth.processResourceDiscoveryResponse(resource, answer);
  const issuer = new URL(described.authorization_servers?.[0] ?? "");
  // OpenID Connect's address is the default of this client.
  const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));
  expect(as.token_endpoint).toBe(`${server.url}/oauth/token`);
});

it("understands a refused registration", async () => {
  const as: oauth.AuthorizationServer = { issuer: server.url, registration_endpoint: `${server.url}/oauth/register` };
  const request = oauth.dynamicClientRegistrationRequest(as, { redirect_uris: ["http://example.com/"] }, insecure);
  await expect(oauth.processDynamicClientRegistrationResponse(await request)).rejects.toMatchObject({
    error: "invalid_redirect_uri",
    status: 400,
  });
});
