/** Clients of every protocol version: the SDK's second generation, which negotiates, and plain requests of each version. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, newCaller, reach } from "../../support/caller.ts";

const NEWEST = "2026-07-28";
const LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const messages = [{ role: "user", content: "hi" }];

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

async function connect(mode: "auto" | "legacy" | { pin: string }): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  const transport = new StreamableHTTPClientTransport(new URL("https://weir.test/mcp"), {
    fetch: (url, init) => reach(new Request(url, init)),
    requestInit: { headers: { "x-api-key": caller.key } },
  });
  await client.connect(transport);
  return client;
}

describe("the SDK's client", () => {
  it.each<["auto" | "legacy" | { pin: string }, string]>([
    ["auto", NEWEST],
    [{ pin: NEWEST }, NEWEST],
    ["legacy", "2025-11-25"],
  ])("in mode %j uses %s", async (mode, version) => {
    const client = await connect(mode);
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    expect(client.getServerVersion()).toMatchObject({ name: "Weir" });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["agent", "echo"]));
    const { content, isError } = await client.callTool({ name: "echo", arguments: { messages } });
    expect(isError).toBe(false);
    expect(content).toEqual([{ type: "text", text: "You said: hi" }]);
    await expect(client.callTool({ name: "absent", arguments: {} })).rejects.toMatchObject({ code: -32602 });
    await client.close();
  });
});

describe("a plain request", () => {
  const meta = (version: string) => ({
    "io.modelcontextprotocol/protocolVersion": version,
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  });
  const modern = (method: string, params: object = {}, version = NEWEST) =>
    caller.fetch("/mcp", {
      body: { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta(version) } },
      headers: { "mcp-protocol-version": version, "mcp-method": method },
    });

  it.each(LEGACY)("initializes with %s", async (protocolVersion) => {
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: "test", version: "1" } };
    const response = await caller.fetch("/mcp", { body: { jsonrpc: "2.0", id: 1, method: "initialize", params } });
    expect(await response.json()).toMatchObject({ result: { protocolVersion, serverInfo: { name: "Weir" } } });
  });

  it("of the newest version needs no handshake, and discovers the server", async () => {
    const response = await modern("server/discover");
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      result: { supportedVersions: expect.arrayContaining([NEWEST]), capabilities: { tools: {} } },
    });
    expect(await (await modern("tools/list")).json()).toMatchObject({ result: { tools: expect.any(Array) } });
  });

  it("of a version to come learns which are served", async () => {
    const response = await modern("tools/list", {}, "2099-01-01");
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { data: { supported: expect.arrayContaining([NEWEST]) } } });
  });

  it("subscribes to nothing: tools announce no changes", async () => {
    const response = await modern("subscriptions/listen", { notifications: { toolsListChanged: true } });
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const { value } = await reader.read();
    const [, data = ""] = /data: (.*)/.exec(new TextDecoder().decode(value)) ?? [];
    const { method, params } = JSON.parse(data) as { method: string; params: { notifications: object } };
    expect([method, params.notifications]).toEqual(["notifications/subscriptions/acknowledged", {}]);
    await reader.cancel();
  });
});
