import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { beforeEach, describe, expect, it } from "vitest";
import { type Caller, newCaller, send, reach } from "../../support/caller.ts";

let caller: Caller;
beforeEach(async () => {
  caller = await newCaller();
});

async function connect(): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  const transport = new StreamableHTTPClientTransport(new URL("https://weir.test/mcp"), {
    fetch: (url, init) => reach(new Request(url, init)),
    requestInit: { headers: { "x-api-key": caller.key } },
  });
  await client.connect(transport);
  return client;
}
const messages = [{ role: "user", content: "hi" }];

describe("with the MCP SDK's client", () => {
  it("assistants are tools", async () => {
    const made = await caller.fetch("/assistants", {
      body: { graph_id: "echo", name: "My écho!", description: "Says it" },
    });
    const { assistant_id } = await made.json<{ assistant_id: string }>();
    const client = await connect();
    expect(client.getServerVersion()).toMatchObject({ name: "Weir" });
    const { tools } = await client.listTools();
    const mine = tools.find(({ description }) => description === "Says it");
    expect(mine?.name).toBe(`My_cho_-${assistant_id.slice(0, 8)}`);
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["agent", "echo"]));
    const echo = tools.find(({ name }) => name === "echo");
    expect(echo?.inputSchema).toMatchObject({ type: "object", properties: { messages: { type: "array" } } });

    for (const name of ["echo", mine?.name ?? ""]) {
      const result = (await client.callTool({ name, arguments: { messages } })) as { content: { text: string }[] };
      expect(result.content).toEqual([{ type: "text", text: "You said: hi" }]);
    }
    await client.close();
  });

  it("an unknown tool is refused, a failed run is an error to read", async () => {
    const client = await connect();
    await expect(client.callTool({ name: "absent" })).rejects.toMatchObject({ code: -32602 });
    const failed = await client.callTool({ name: "echo", arguments: { messages: [{ role: 5 }] } });
    expect(failed).toMatchObject({ isError: true, content: [{ type: "text" }] });
    await client.close();
  });

  it("the list continues with a cursor", async () => {
    for (let n = 0; n < 100; n++) await caller.fetch("/assistants", { body: { graph_id: "echo", name: `n${n}` } });
    const client = await connect();
    const first = await client.listTools();
    const second = await client.listTools({ cursor: first.nextCursor });
    // A page has no tool for an assistant whose graph cannot be built, and other files deploy such graphs.
    expect(first.tools.length).toBeGreaterThan(50);
    expect(first.tools.length).toBeLessThanOrEqual(100);
    expect(second.nextCursor).toBeUndefined();
    const names = [...first.tools, ...second.tools].map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => /^n\d+-/.test(name))).toHaveLength(100);
    await expect(client.listTools({ cursor: "x" })).rejects.toMatchObject({ code: -32602 });
    await client.close();
  });
});

describe("over plain HTTP", () => {
  const rpc = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  const post = (headers: Record<string, string>, body: unknown = rpc) => caller.fetch("/mcp", { body, headers });

  it("answers as the client accepts it", async () => {
    const json = await post({ accept: "application/json" });
    expect(json.headers.get("content-type")).toContain("application/json");
    expect(await json.json()).toMatchObject({ id: 1, result: { tools: expect.any(Array) } });
    const stream = await post({ accept: "text/event-stream" });
    expect(stream.headers.get("content-type")).toContain("text/event-stream");
    expect(await stream.text()).toContain('"tools"');
    expect((await post({ accept: "text/html" })).status).toBe(400);
  });

  it("takes notifications, and refuses what is no request", async () => {
    const notified = await post({}, { jsonrpc: "2.0", method: "notifications/initialized" });
    expect(notified.status).toBe(202);
    expect(await (await post({}, "{")).json()).toMatchObject({ error: { code: -32700 } });
    expect(await (await post({}, { jsonrpc: "2.0", id: 2, method: "no/such" })).json()).toMatchObject({
      error: { code: -32601 },
    });
  });

  it("has no stream and no session", async () => {
    const stream = await caller.fetch("/mcp");
    expect([stream.status, stream.headers.get("allow")]).toEqual([405, "POST"]);
    expect((await caller.fetch("/mcp", { method: "DELETE" })).status).toBe(404);
    expect((await send("/mcp", { body: rpc })).status).toBe(401);
  });
});
