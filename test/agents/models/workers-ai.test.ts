/** ChatOpenAI on a stand-in of a Workers AI binding, which answers as older and as newer models do. */
import { HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type AiBinding, workersAi } from "../../../src/agents/models/workers-ai.ts";

const MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const weather = tool(() => "rain", {
  name: "weather",
  description: "The weather.",
  schema: z.object({ city: z.string() }),
});

interface Asked {
  model: string;
  inputs: Record<string, unknown>;
}

/** A binding that answers with these values in turn, and records its calls. */
function binding(...answers: unknown[]): { ai: AiBinding; asked: Asked[] } {
  const asked: Asked[] = [];
  const ai: AiBinding = {
    run: async (model, inputs) => {
      asked.push({ model, inputs });
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
  return { ai, asked };
}

const chat = (ai: AiBinding, model = MODEL) =>
  new ChatOpenAI({ model, apiKey: "none", maxRetries: 0, streamUsage: true, configuration: { fetch: workersAi(ai) } });

/** Server-sent events with this data, cut into pieces of `size` bytes. */
function events(data: unknown[], size: number): ReadableStream<Uint8Array> {
  const lines = [...data.map((one) => JSON.stringify(one)), "[DONE]"].map((one) => `data: ${one}\n\n`);
  const bytes = new TextEncoder().encode(lines.join(""));
  return new ReadableStream({
    start(out) {
      for (let at = 0; at < bytes.length; at += size) out.enqueue(bytes.subarray(at, at + size));
      out.close();
    },
  });
}
const usage = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 };

describe("an older model", () => {
  test("answers whole, with its usage", async () => {
    const { ai, asked } = binding({ response: "Hello there", usage });
    const said = await chat(ai, `workers-ai:${MODEL}`).invoke("Hi");
    expect(said.text).toBe("Hello there");
    expect(said.usage_metadata).toMatchObject({ input_tokens: 7, output_tokens: 2 });
    expect(asked[0]).toMatchObject({ model: MODEL, inputs: { messages: [{ role: "user", content: "Hi" }] } });
    expect(asked[0]?.inputs).not.toHaveProperty("model");
  });

  test("calls tools, and gets their results with text in every message", async () => {
    const { ai, asked } = binding(
      { response: null, tool_calls: [{ name: "weather", arguments: { city: "Paris" } }] },
      { response: "Rain." },
    );
    const model = chat(ai).bindTools([weather]);
    const question = new HumanMessage("Weather?");
    const call = await model.invoke([question]);
    expect(call.tool_calls).toMatchObject([{ name: "weather", args: { city: "Paris" } }]);
    const result = await weather.invoke({
      ...call.tool_calls?.[0],
      args: { city: "Paris" },
      name: "weather",
      type: "tool_call",
    });
    expect((await model.invoke([question, call, result])).text).toBe("Rain.");
    const [, second] = asked;
    expect(second?.inputs.tools).toMatchObject([{ function: { name: "weather" } }]);
    expect(second?.inputs.messages).toMatchObject([
      {},
      { role: "assistant", content: "" },
      { role: "tool", content: "rain" },
    ]);
  });

  test.each([1, 7, 10_000])("streams in pieces of %i bytes", async (size) => {
    const { ai } = binding(events([{ response: "Grü" }, { response: "ße" }, { response: "", usage }], size));
    const chunks = [];
    for await (const chunk of await chat(ai).stream("Hi")) chunks.push(chunk);
    expect(chunks.map(({ text }) => text).join("")).toBe("Grüße");
    expect(chunks.filter(({ text }) => text)).toHaveLength(2);
    expect(chunks.findLast((chunk) => chunk.usage_metadata)?.usage_metadata).toMatchObject({ output_tokens: 2 });
    expect(chunks.findLast((chunk) => chunk.response_metadata.finish_reason)?.response_metadata.finish_reason).toBe(
      "stop",
    );
  });

  test("calls tools in a stream", async () => {
    const { ai } = binding(
      events([{ response: "", tool_calls: [{ name: "weather", arguments: '{"city":"Rome"}' }] }], 50),
    );
    let whole;
    for await (const chunk of await chat(ai).bindTools([weather]).stream("Weather?"))
      whole = whole ? whole.concat(chunk) : chunk;
    expect(whole?.tool_calls).toMatchObject([{ name: "weather", args: { city: "Rome" } }]);
  });
});

test("a newer model's answers pass unchanged", async () => {
  const choice = { index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" };
  const delta = (content: string, finish_reason: string | null = null) => ({
    id: "x",
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta: { content }, finish_reason }],
  });
  const { ai } = binding({ id: "x", choices: [choice], usage }, events([delta("Hel"), delta("lo", "stop")], 20));
  expect((await chat(ai).invoke("Hi")).text).toBe("Hello");
  const chunks = [];
  for await (const chunk of await chat(ai).stream("Hi")) chunks.push(chunk);
  expect(chunks.map(({ text }) => text).join("")).toBe("Hello");
  expect(chunks.filter((chunk) => chunk.response_metadata.finish_reason)).toHaveLength(1);
});

test.each([
  ["5007: No such model @cf/none", 400],
  ["3036: You have used up your daily free allocation", 429],
  ["InferenceUpstreamError", 500],
])("the error %j is status %i for the client", async (message, status) => {
  const { ai } = binding(new Error(message));
  await expect(chat(ai).invoke("Hi")).rejects.toMatchObject({ status, message: expect.stringContaining(message) });
});

test("another call than a chat completion is refused", async () => {
  const { ai, asked } = binding();
  const answer = await workersAi(ai)("https://api.openai.com/v1/responses", { method: "POST", body: "{}" });
  expect(answer.status).toBe(404);
  expect(asked).toEqual([]);
});
