import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type FakeOpenAI, startFakeOpenAI } from "../support/fake-openai.ts";
import { startServer, type TestServer } from "../support/server.ts";

let openai: FakeOpenAI;
let server: TestServer;
beforeAll(async () => {
  openai = await startFakeOpenAI();
  server = await startServer({ OPENAI_API_KEY: "sk-test", OPENAI_BASE_URL: openai.baseUrl });
});
afterAll(async () => {
  await server?.stop();
  openai.stop();
});

it("agent talks to any endpoint of the OpenAI format, with tools and tokens", async () => {
  const client = new Client({ apiUrl: server.url, apiKey: server.key });
  const { thread_id } = await client.threads.create();
  const tokens: string[] = [];
  const run = client.runs.stream(thread_id, "agent", {
    input: { messages: [{ role: "user", content: "What is 6 * 7?" }] },
    context: { model: "some-model", system_prompt: "Be exact.", temperature: 0.5 },
    streamMode: "messages-tuple",
  });
  for await (const { event, data } of run) {
    if (event !== "messages") continue;
    const [{ type, content }] = data as unknown as [{ type: string; content: string }];
    if (type === "AIMessageChunk" && content) tokens.push(content);
  }
  expect(tokens).toEqual(["One moment.", "It ", "is ", "42."]);

  const { values } = await client.threads.getState<{ messages: Record<string, unknown>[] }>(thread_id);
  expect(values.messages).toMatchObject([
    { type: "human" },
    { content: "One moment.", tool_calls: [{ id: "call_1", name: "calculator", args: { expression: "6*7" } }] },
    { type: "tool", content: "42" },
    { content: "It is 42.", usage_metadata: { input_tokens: 11, output_tokens: 5 } },
  ]);
  expect(openai.asked).toHaveLength(2);
  expect(openai.asked[0]).toMatchObject({
    authorization: "Bearer sk-test",
    body: {
      model: "some-model",
      temperature: 0.5,
      stream: true,
      messages: [{ role: "system", content: "Be exact." }, { role: "user" }],
    },
  });
});
