/**
 * The models of a Workers AI binding, for clients of OpenAI's API: `weir-server/workers-ai`. LangChain's own package for Workers
 * AI has no tools and calls the REST API with a token, so ChatOpenAI is used with this `fetch` instead.
 */
import { readToolCalls, completionId, type NativeAnswer, readText } from "../../models/workers-ai-answer.ts";
import { translateStream } from "../../models/workers-ai-stream.ts";

/** The part of the platform's `Ai` binding that is used. */
export interface AiBinding {
  run(model: string, inputs: Record<string, unknown>): Promise<unknown>;
}

/**
 * A `fetch` for `configuration.fetch` of ChatOpenAI: chat completions, streamed or whole, with tools. The model's name is
 * that of Workers AI, with or without the prefix `workers-ai:`.
 *
 * @example new ChatOpenAI({ model: "@cf/…", apiKey: "none", configuration: { fetch: workersAi(env.AI) } })
 */
export function workersAi(ai: AiBinding): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    if (!new URL(request.url).pathname.endsWith("/chat/completions")) {
      return refusal(404, `Workers AI answers chat completions here, not ${new URL(request.url).pathname}.`);
    }
    const { model: named, stream_options: _, messages, ...inputs } = await request.json<ChatRequest>();
    const model = named.replace(/^workers-ai:/, "");
    // Several models refuse null, which OpenAI's clients send for a message of only tool calls.
    const plain = messages.map((message) => ({ ...message, content: message.content ?? "" }));
    let answer: unknown;
    try {
      answer = await ai.run(model, { ...inputs, messages: plain });
    } catch (error) {
      return refusal(readStatus(error), error instanceof Error ? error.message : String(error));
    }
    if (answer instanceof ReadableStream) {
      return new Response(translateStream(answer as ReadableStream<Uint8Array>, model), {
        headers: { "content-type": "text/event-stream" },
      });
    }
    return Response.json(completion(answer as NativeAnswer, model));
  };
}

interface ChatRequest extends Record<string, unknown> {
  model: string;
  messages: { content?: unknown }[];
}

/** A whole answer in OpenAI's form. */
function completion(answer: NativeAnswer, model: string): unknown {
  if (answer.choices) return answer;
  const tool_calls = readToolCalls(answer);
  const content = readText(answer.response);
  const message = { role: "assistant", content, ...(tool_calls && { tool_calls }) };
  const choice = { index: 0, message, finish_reason: tool_calls ? "tool_calls" : "stop" };
  return { id: completionId(), object: "chat.completion", created: 0, model, choices: [choice], usage: answer.usage };
}

/** The codes with which messages of Workers AI begin: 3036 no allocation left, 3040 no capacity, 5xxx a faulty request. */
function readStatus(error: unknown): number {
  const [, code = ""] = /\b(\d{4})\b/.exec(error instanceof Error ? error.message : "") ?? [];
  if (code === "3036" || code === "3040") return 429;
  return code.startsWith("5") ? 400 : 500;
}

const refusal = (status: number, message: string) => Response.json({ error: { message } }, { status });
