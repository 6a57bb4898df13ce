/** OpenAI's chat completions, responses and embeddings, as the fake provider answers them. */
import type { ServerResponse } from "node:http";
import { type Body, json, type Said, SENTENCE, stream } from "./provider-answer.ts";
import { sample } from "./sample.ts";

const DIMENSIONS = 1536;

interface Tool {
  name?: string;
  parameters?: unknown;
  function?: { name: string; parameters?: unknown };
}

/** What the model says to a request of either API: a forced tool, a schema, or a sentence. */
function createSaid({ tools, tool_choice: choice, response_format, text }: Body): Said {
  const format = (response_format ?? (text as Body | undefined)?.format) as
    | { type?: string; schema?: unknown; json_schema?: { schema?: unknown } }
    | undefined;
  const schema = format?.json_schema?.schema ?? format?.schema;
  if (schema) return { text: JSON.stringify(sample(schema)) };
  if (format?.type === "json_object") return { text: "{}" };
  const known = ((tools ?? []) as Tool[]).map((tool) => tool.function ?? tool);
  const forced = choice as { name?: string; function?: { name: string } } | string | undefined;
  const wanted = typeof forced === "object" ? (forced.function?.name ?? forced.name) : undefined;
  const tool = forced === "required" || forced === "any" ? known.at(-1) : known.find(({ name }) => name === wanted);
  if (!tool?.name) return { text: SENTENCE };
  return { text: "", call: { name: tool.name, args: JSON.stringify(sample(tool.parameters ?? {})) } };
}

const words = (text: string): string[] => text.match(/\S+\s*/g) ?? [];

export function chatCompletions(body: Body, response: ServerResponse): void {
  const { text, call } = createSaid(body);
  const usage = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 };
  const calls = call && [
    { index: 0, id: `call_${Date.now()}`, type: "function", function: { name: call.name, arguments: call.args } },
  ];
  const finish_reason = call ? "tool_calls" : "stop";
  const common = { id: "chatcmpl-1", created: 0, model: body.model };
  if (!body.stream) {
    const message = { role: "assistant", content: call ? null : text, tool_calls: calls, refusal: null };
    const choices = [{ index: 0, message, finish_reason, logprobs: null }];
    return json(response, { ...common, object: "chat.completion", choices, usage });
  }
  const chunk = (delta: object, reason: string | null = null) => ({
    ...common,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: reason }],
  });
  const deltas = calls
    ? [{ role: "assistant", content: null, tool_calls: calls }]
    : words(text).map((content) => ({ role: "assistant", content }));
  const last = { ...common, object: "chat.completion.chunk", choices: [], usage };
  stream(
    response,
    [...deltas.map((delta) => chunk(delta)), chunk({}, finish_reason), last, "[DONE]"].map((data) => [undefined, data]),
  );
}

export function responses(body: Body, response: ServerResponse): void {
  const { text, call } = createSaid(body);
  const item = call
    ? {
        type: "function_call",
        id: "fc_1",
        call_id: `call_${Date.now()}`,
        name: call.name,
        arguments: call.args,
        status: "completed",
      }
    : {
        type: "message",
        id: "msg_1",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text, annotations: [] }],
      };
  const usage = {
    input_tokens: 5,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 10,
  };
  const whole = {
    id: "resp_1",
    object: "response",
    created_at: 0,
    model: body.model,
    status: "completed",
    output: [item],
    usage,
    error: null,
  };
  if (!body.stream) return json(response, whole);
  const begun = { ...whole, status: "in_progress", output: [] };
  const at = { output_index: 0, item_id: item.id, content_index: 0 };
  const part = { type: "output_text", text: "", annotations: [] };
  const events: Body[] = [
    { type: "response.created", response: begun },
    {
      type: "response.output_item.added",
      output_index: 0,
      item: call ? { ...item, arguments: "" } : { ...item, content: [] },
    },
    ...(call
      ? [
          { type: "response.function_call_arguments.delta", ...at, delta: call.args },
          { type: "response.function_call_arguments.done", ...at, arguments: call.args },
        ]
      : [
          { type: "response.content_part.added", ...at, part },
          ...words(text).map((delta) => ({ type: "response.output_text.delta", ...at, delta })),
          { type: "response.output_text.done", ...at, text },
          { type: "response.content_part.done", ...at, part: { ...part, text } },
        ]),
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: whole },
  ];
  stream(
    response,
    events.map((event, sequence_number) => [String(event.type), { ...event, sequence_number }]),
  );
}

export function embeddings({ input, model, encoding_format }: Body, response: ServerResponse): void {
  const texts = Array.isArray(input) ? input : [input];
  const vector = Array.from({ length: DIMENSIONS }, (_, i) => (i === 0 ? 1 : 0));
  const base64 = Buffer.from(new Float32Array(vector).buffer).toString("base64");
  const embedding = encoding_format === "base64" ? base64 : vector;
  const data = texts.map((_, index) => ({ object: "embedding", index, embedding }));
  json(response, { object: "list", model, data, usage: { prompt_tokens: 1, total_tokens: 1 } });
}
