/** The offline model of the demo graphs, for clients of OpenAI's chat completions: a fresh server has a model to try. */
import { coerceMessageLikeToMessage } from "@langchain/core/messages";
import { reply } from "../../../examples/demo/src/offline/reply.ts";

export const OFFLINE = "weir-offline";
const DELAY_MS = 5;

interface Asked {
  messages: { role: string; content: unknown; tool_call_id?: string; tool_calls?: OpenAiCall[] }[];
  tools?: { function: { name: string } }[];
}

interface OpenAiCall {
  id: string;
  function: { name: string; arguments: string };
}

/** A `fetch` that answers a request for chat completions with a stream of chunks. */
export const offline = (env: Env) => async (_url: string, init: RequestInit) => {
  const { messages, tools = [] } = JSON.parse(init.body as string) as Asked;
  const given = messages.map(({ role, content, tool_calls = [], tool_call_id = "" }) => {
    const calls = tool_calls.map((call) => ({
      id: call.id,
      name: call.function.name,
      args: JSON.parse(call.function.arguments) as Record<string, unknown>,
    }));
    return coerceMessageLikeToMessage({ role, content: content as string, tool_calls: calls, tool_call_id });
  });
  const { text, calls } = reply(
    given,
    tools.map(({ function: { name } }) => name),
  );
  const words = text.match(/\S+\s*/g) ?? [];
  const wait = Number(env.OFFLINE_MODEL_DELAY_MS ?? DELAY_MS);
  const input = given
    .map((message) => message.text)
    .join(" ")
    .split(/\s+/).length;
  const chunks = [
    ...words.map((content) => ({ choices: [{ delta: { content } }] })),
    ...calls.map(({ name, args }, index) => ({
      choices: [
        {
          delta: {
            tool_calls: [
              { index, id: `call_${crypto.randomUUID()}`, function: { name, arguments: JSON.stringify(args) } },
            ],
          },
        },
      ],
    })),
    { choices: [{ delta: {}, finish_reason: calls.length > 0 ? "tool_calls" : "stop" }] },
    // Words, not tokens: the model has none.
    {
      choices: [],
      usage: { prompt_tokens: input, completion_tokens: words.length, total_tokens: input + words.length },
    },
  ];
  const encoder = new TextEncoder();
  let next = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      init.signal?.throwIfAborted();
      if (next > 0 && next < words.length && wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      const chunk = chunks[next++];
      controller.enqueue(encoder.encode(`data: ${chunk === undefined ? "[DONE]" : JSON.stringify(chunk)}\n\n`));
      if (chunk === undefined) controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
};
