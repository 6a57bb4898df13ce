/** The thread-centric streaming protocol with the stock client, over SSE and WebSocket. */
import assert from "node:assert/strict";
import { Client } from "@langchain/langgraph-sdk";
import { human } from "../../../test/support/api.ts";
import { type Check, OWN_TRACES, type Smoke } from "../suite.ts";
import { newThread } from "./threads.ts";

interface State {
  messages: { type: string; content: string }[];
}

/** Node's WebSocket accepts headers, so it can send the key. */
const socketWith = (headers: Record<string, string>) => (url: string) =>
  new WebSocket(url, { headers } as unknown as string[]);

async function converse(smoke: Smoke, transport: "sse" | "websocket"): Promise<void> {
  const context = { model: "offline" };
  const { assistant_id: assistantId } = await smoke.client.assistants.create({ graphId: "agent", context });
  smoke.undoLater("assistant", () => smoke.client.assistants.delete(assistantId));
  const socket = transport === "websocket" && { webSocketFactory: socketWith(smoke.headers) };
  // The client refuses a WebSocket when it has a key itself.
  const client = socket ? new Client({ apiUrl: smoke.url, apiKey: null as never }) : smoke.client;
  const thread = client.threads.stream(await newThread(smoke), { assistantId, transport, ...socket } as never);
  try {
    const said: string[] = [];
    const listening = (async () => {
      for await (const message of thread.messages) said.push(await message.text);
    })();
    // An error of `run.start` is reported instead.
    listening.catch(() => undefined);
    smoke.noteLeft(OWN_TRACES);
    await thread.run.start({ input: human("What is 17 * 24?") });
    const { messages } = (await thread.output) as State;
    await listening;
    assert.deepEqual(
      messages.map(({ type }) => type),
      ["human", "ai", "tool", "ai"],
    );
    assert.ok(said.includes(messages.at(-1)?.content ?? ""), "The stream did not bring the last message.");
  } finally {
    await thread.close();
  }
}

export const streaming: Check[] = (["sse", "websocket"] as const).map((transport) => ({
  name: `streaming protocol: a run with a tool call over ${transport === "sse" ? "SSE" : "a WebSocket"}`,
  graph: "agent",
  run: (smoke) => converse(smoke, transport),
}));
