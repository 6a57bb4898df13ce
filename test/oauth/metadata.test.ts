import { expect, it } from "vitest";
import { send } from "../support/caller.ts";

it("tells clients where to register, sign in and get tokens", async () => {
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

it("knows no other resource", async () => {
  expect((await send("/.well-known/oauth-protected-resource/elsewhere")).status).toBe(404);
});
