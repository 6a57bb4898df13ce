/**
 * The models of a Workers AI binding, for clients of OpenAI's API: `weir-server/workers-ai`. LangChain's own package for Workers
 * AI has no tools and calls the REST API with a token, so ChatOpenAI is used with this `fetch` instead.
 */

// Answers of Workers AI, and their parts in the form of OpenAI's API.

/** An answer in the form of the older models; newer ones answer as OpenAI does, with `choices`. */
export interface NativeResponse {
  response?: string | null | object;
  tool_calls?: { name: string; arguments: unknown }[];
  usage?: Record<string, unknown>;
  choices?: unknown[];
}

export const completionId = () => `chatcmpl-${crypto.randomUUID()}`;

/** Text, or the JSON of an answer to `response_format`. */
export function readText(response: NativeResponse["response"]): string {
  if (typeof response === "string") return response;
  return response ? JSON.stringify(response) : "";
}

/** Tool calls in OpenAI's form; undefined when there are none. */
export function readToolCalls({ tool_calls = [] }: NativeResponse) {
  if (tool_calls.length === 0) return undefined;
  return tool_calls.map(({ name, arguments: given }, index) => ({
    index,
    id: `call_${crypto.randomUUID()}`,
    type: "function",
    function: { name, arguments: typeof given === "string" ? given : JSON.stringify(given ?? {}) },
  }));
}

// The data of server-sent events.

/** Characters of one line. A provider that sends a longer one sends no chunk of an answer. */
const MAX_LINE = 4_000_000;

/** The data of each event, however the bytes are cut. */
export function dataLines(): TransformStream<Uint8Array, string> {
  const decoder = new TextDecoder();
  let rest = "";
  const dataIn = (line: string) => (line.startsWith("data:") ? line.slice("data:".length).trim() : "");
  return new TransformStream({
    transform(bytes, out) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > MAX_LINE) throw new Error("The model sent an event that is too large.");
      for (const data of lines.map(dataIn)) if (data) out.enqueue(data);
    },
    flush(out) {
      const data = dataIn(rest + decoder.decode());
      if (data) out.enqueue(data);
    },
  });
}

// A stream of Workers AI as a stream of OpenAI's chat completion chunks. Both are server-sent events.

/** Older models send `{"response": "text"}` per event; newer ones send OpenAI's chunks, which pass unchanged. */
export function translateStream(answer: ReadableStream<Uint8Array>, model: string): ReadableStream<Uint8Array> {
  const id = completionId();
  let finish: string | undefined = "stop";
  const chunk = (delta: object, more: object = {}) => {
    const choice = { index: 0, delta, finish_reason: null, ...more };
    return { id, object: "chat.completion.chunk", created: 0, model, choices: [choice] };
  };
  const translated = (data: NativeResponse): object[] => {
    if (data.choices) {
      // Its own chunks say how it ends.
      finish = undefined;
      return [data];
    }
    const tool_calls = readToolCalls(data);
    if (tool_calls) finish = "tool_calls";
    const content = readText(data.response);
    const said =
      content || tool_calls ? [chunk({ role: "assistant", content, ...(tool_calls && { tool_calls }) })] : [];
    return data.usage ? [...said, { ...chunk({}), choices: [], usage: data.usage }] : said;
  };
  const encoder = new TextEncoder();
  return answer.pipeThrough(dataLines()).pipeThrough(
    new TransformStream<string, Uint8Array>({
      transform(data, out) {
        if (data === "[DONE]") return;
        for (const one of translated(JSON.parse(data) as NativeResponse))
          out.enqueue(encoder.encode(`data: ${JSON.stringify(one)}\n\n`));
      },
      flush(out) {
        const end = finish ? `data: ${JSON.stringify(chunk({}, { finish_reason: finish }))}\n\n` : "";
        out.enqueue(encoder.encode(`${end}data: [DONE]\n\n`));
      },
    }),
  );
}

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
    return Response.json(completion(answer as NativeResponse, model));
  };
}

interface ChatRequest extends Record<string, unknown> {
  model: string;
  messages: { content?: unknown }[];
}

/** A whole answer in OpenAI's form. */
function completion(answer: NativeResponse, model: string): unknown {
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
