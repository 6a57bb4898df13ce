import type { AIMessage } from "@langchain/core/messages";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type FakeOpenAI, startFakeOpenAI } from "../support/fake-openai.ts";
import { openGraph, human, onThread } from "../graphs/support.ts";

let openai: FakeOpenAI;
beforeAll(async () => {
  openai = await startFakeOpenAI();
});
afterAll(() => openai.stop());

it("agent talks to any endpoint of the OpenAI format, with tools and tokens", async () => {
  const agent = await openGraph("agent", { OPENAI_API_KEY: "sk-test", OPENAI_BASE_URL: openai.baseUrl } as Env);
  const context = { model: "some-model", system_prompt: "Be exact.", temperature: 0.5 };
  const finished: Record<string, unknown>[] = [];
  const run = await agent.streamEvents(human("What is 6 * 7?"), { ...onThread("t"), version: "v3", context });
  for await (const event of run as AsyncIterable<{ method: string; params: { data: Record<string, unknown> } }>) {
    if (event.method === "messages" && event.params.data.event === "content-block-finish")
      finished.push(event.params.data);
  }
  expect(finished).toMatchObject([
    { index: 0, content: { type: "text", text: "One moment." } },
    { index: 1, content: { type: "tool_call", name: "calculator" } },
    { index: 0, content: { type: "text", text: "It is 42." } },
  ]);
  const { values } = await agent.getState(onThread("t"));
  const said = values.messages as AIMessage[];
  expect(said.map(({ text }) => text)).toEqual(["What is 6 * 7?", "One moment.", "42", "It is 42."]);
  expect(said[1]?.tool_calls).toMatchObject([{ id: "call_1", name: "calculator", args: { expression: "6*7" } }]);
  expect(said[3]?.usage_metadata).toMatchObject({ input_tokens: 11, output_tokens: 5 });
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
