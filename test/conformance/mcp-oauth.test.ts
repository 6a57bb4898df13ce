/**
 * The MCP SDK's own client and transport: it receives a 401, discovers the authorization server, and returns with a
 * token.
 */
import { type OAuthClientProvider, UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { OAuthClientInformationMixed, OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { startServer, type TestServer } from "../support/server.ts";
import { allow } from "./person.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

/** What an application keeps; the person's answer arrives in `answer`. */
class Keeper implements OAuthClientProvider {
  client: OAuthClientInformationMixed | undefined;
  saved: OAuthTokens | undefined;
  verifier = "";
  resource: string | null = null;
  answer: URL | undefined;
  readonly redirectUrl = "http://localhost:54321/callback";
  readonly clientMetadata = {
    client_name: "MCP client",
    redirect_uris: [this.redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  state = () => "a-state";
  clientInformation = () => this.client;
  saveClientInformation = (client: OAuthClientInformationMixed) => void (this.client = client);
  tokens = () => this.saved;
  saveTokens = (tokens: OAuthTokens) => void (this.saved = tokens);
  saveCodeVerifier = (verifier: string) => void (this.verifier = verifier);
  codeVerifier = () => this.verifier;
  redirectToAuthorization = async (address: URL) => {
    this.resource = address.searchParams.get("resource");
    this.answer = await allow(address, server.key);
  };
}

/** A client that registers nowhere: its id is the address of its metadata document. */
class DescribedKeeper extends Keeper {
  readonly clientMetadataUrl = "https://client.example/mcp.json";
}

const transport = (keeper: Keeper, path = "/mcp") =>
  new StreamableHTTPClientTransport(new URL(`${server.url}${path}`), { authProvider: keeper });

it("registers, gets consent, a token, and in", async () => {
  const keeper = new Keeper();
  const first = transport(keeper);
  await expect(new Client({ name: "test", version: "1" }).connect(first)).rejects.toThrow(UnauthorizedError);
  expect(keeper.client?.client_id).toBeTruthy();
  expect(keeper.resource).toBe(`${server.url}/mcp`);
  expect(keeper.answer?.searchParams.get("state")).toBe("a-state");

  await first.finishAuth(keeper.answer?.searchParams.get("code") ?? "");
  expect(keeper.saved).toMatchObject({ token_type: "Bearer", scope: "read write" });

  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport(keeper));
  const { tools } = await client.listTools();
  expect(tools.length).toBeGreaterThan(0);
  await client.close();

  // The token is for /mcp: RFC 8707.
  const elsewhere = await fetch(`${server.url}/assistants/search`, {
    method: "POST",
    headers: { authorization: `Bearer ${keeper.saved?.access_token}` },
  });
  expect(elsewhere.status).toBe(401);
});

it.each([
  ["/mcp/traces", "read", 0],
  ["/mcp/traces?write=true", "read write", 2],
])("gets for %s a token with the scope %s, and %i tools that write", async (path, scope, writing) => {
  const keeper = new Keeper();
  const first = transport(keeper, path);
  await expect(new Client({ name: "test", version: "1" }).connect(first)).rejects.toThrow(UnauthorizedError);
  expect(keeper.resource).toBe(`${server.url}/mcp/traces`);
  await first.finishAuth(keeper.answer?.searchParams.get("code") ?? "");
  expect(keeper.saved).toMatchObject({ scope });
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport(keeper, path));
  const { tools } = await client.listTools();
  expect(tools.filter(({ annotations }) => annotations?.readOnlyHint === false)).toHaveLength(writing);
  await client.close();
  // The token is for traces over MCP alone.
  const headers = { authorization: `Bearer ${keeper.saved?.access_token}` };
  expect((await fetch(`${server.url}/mcp`, { method: "POST", headers })).status).toBe(401);
});

it("needs no registration when its id is the address of its metadata document", async () => {
  const keeper = new DescribedKeeper();
  const { clientMetadataUrl, clientMetadata } = keeper;
  // The Worker's outgoing requests go through this process.
  const passOn = globalThis.fetch;
  const document = { client_id: clientMetadataUrl, ...clientMetadata };
  vi.stubGlobal("fetch", async (input: string | URL | Request, init?: RequestInit) =>
    new Request(input).url === clientMetadataUrl ? Response.json(document) : passOn(input, init),
  );
  try {
    const first = transport(keeper);
    await expect(new Client({ name: "test", version: "1" }).connect(first)).rejects.toThrow(UnauthorizedError);
    await first.finishAuth(keeper.answer?.searchParams.get("code") ?? "");
  } finally {
    vi.unstubAllGlobals();
  }
  expect(keeper.client?.client_id).toBe(clientMetadataUrl);
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport(keeper));
  expect((await client.listTools()).tools.length).toBeGreaterThan(0);
  await client.close();
});

it("refreshes automatically when its token has ended", async () => {
  const keeper = new Keeper();
  const first = transport(keeper);
  await expect(new Client({ name: "test", version: "1" }).connect(first)).rejects.toThrow(UnauthorizedError);
  await first.finishAuth(keeper.answer?.searchParams.get("code") ?? "");
  const { refresh_token: before } = keeper.saved ?? {};
  // As after an hour: the access token is no longer known.
  keeper.saved = { ...keeper.saved, access_token: "weir_at_ended", token_type: "Bearer" };
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport(keeper));
  expect((await client.listTools()).tools.length).toBeGreaterThan(0);
  expect(keeper.saved?.refresh_token).not.toBe(before);
  await client.close();
});
