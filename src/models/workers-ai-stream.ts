/** A stream of Workers AI as a stream of OpenAI's chat completion chunks. Both are server-sent events. */
import { dataLines } from "./data-lines.ts";
import { readToolCalls, completionId, type NativeAnswer, readText } from "./workers-ai-answer.ts";

/** Older models send `{"response": "text"}` per event; newer ones send OpenAI's chunks, which pass unchanged. */
export function translateStream(answer: ReadableStream<Uint8Array>, model: string): ReadableStream<Uint8Array> {
  const id = completionId();
  let finish: string | undefined = "stop";
  const chunk = (delta: object, more: object = {}) => {
    const choice = { index: 0, delta, finish_reason: null, ...more };
    return { id, object: "chat.completion.chunk", created: 0, model, choices: [choice] };
  };
  const translated = (data: NativeAnswer): object[] => {
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
        for (const one of translated(JSON.parse(data) as NativeAnswer))
          out.enqueue(encoder.encode(`data: ${JSON.stringify(one)}\n\n`));
      },
      flush(out) {
        const end = finish ? `data: ${JSON.stringify(chunk({}, { finish_reason: finish }))}\n\n` : "";
        out.enqueue(encoder.encode(`${end}data: [DONE]\n\n`));
      },
    }),
  );
}
