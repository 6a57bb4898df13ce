/** Assistants as A2A agents and as MCP tools, with the stock clients. */
import assert from "node:assert/strict";
import { type Task, TaskState } from "@a2a-js/sdk";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { connectA2a, createMessage, joinText } from "../../../test/support/a2a-client.ts";
import { type Check, OWN_TRACES, type Smoke } from "../suite.ts";

async function deleteThread(smoke: Smoke, context: string): Promise<void> {
  await smoke.call("DELETE", `/threads/${context}`);
}

async function withMcp(smoke: Smoke, work: (client: Client) => Promise<void>): Promise<void> {
  const client = new Client({ name: "weir-smoke", version: "1" });
  const transport = new StreamableHTTPClientTransport(new URL(`${smoke.url}/mcp`), {
    requestInit: { headers: smoke.headers },
  });
  await client.connect(transport);
  try {
    await work(client);
  } finally {
    await client.close();
  }
}

export const agents: Check[] = [
  {
    name: "A2A: agent cards have this address",
    async run(smoke) {
      for (const graph of smoke.graphs) {
        const card = await smoke.call<{ name: string; url: string }>(
          "GET",
          `/a2a/${graph}/.well-known/agent-card.json`,
        );
        assert.ok(card.name);
        assert.ok(card.url.startsWith(`${smoke.url}/a2a/`), `The card has the address ${card.url}. Set PUBLIC_URL`);
      }
    },
  },
  {
    name: "A2A: send",
    graph: "echo",
    async run(smoke) {
      const client = await connectA2a(smoke, "echo");
      const task = (await client.sendMessage(createMessage("ping"))) as Task;
      smoke.undoLater("thread of A2A", () => deleteThread(smoke, task.contextId));
      smoke.noteLeft(OWN_TRACES);
      assert.equal(task.status?.state, TaskState.TASK_STATE_COMPLETED);
      assert.equal(joinText(task.artifacts[0]?.parts), "You said: ping");
      assert.equal((await client.getTask({ tenant: "", id: task.id })).id, task.id);
    },
  },
  {
    name: "A2A: stream",
    graph: "echo",
    async run(smoke) {
      const client = await connectA2a(smoke, "echo");
      let text = "";
      let state: TaskState | undefined;
      for await (const { payload } of client.sendMessageStream(createMessage("pong"))) {
        if (payload?.$case === "task") {
          const { contextId } = payload.value;
          smoke.undoLater("thread of A2A", () => deleteThread(smoke, contextId));
        }
        if (payload?.$case === "artifactUpdate") text += joinText(payload.value.artifact?.parts);
        if (payload?.$case === "statusUpdate") state = payload.value.status?.state;
      }
      assert.deepEqual([text, state], ["You said: pong", TaskState.TASK_STATE_COMPLETED]);
    },
  },
  {
    name: "MCP: every graph is a tool",
    run: (smoke) =>
      withMcp(smoke, async (client) => {
        const names = (await client.listTools()).tools.map(({ name }) => name);
        for (const graph of smoke.graphs) assert.ok(names.includes(graph), `No tool ${graph}: ${names.join(", ")}`);
      }),
  },
  {
    name: "MCP: call",
    graph: "echo",
    run: (smoke) =>
      withMcp(smoke, async (client) => {
        const messages = [{ role: "user", content: "ping" }];
        const result = await client.callTool({ name: "echo", arguments: { messages } });
        smoke.noteLeft(OWN_TRACES);
        assert.ok(!result.isError);
        assert.match(JSON.stringify(result.content), /You said: ping/);
      }),
  },
];
