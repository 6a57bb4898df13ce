/** Anthropic's messages, as the fake provider answers them. */
import type { ServerResponse } from "node:http";
import { type Body, json, SENTENCE, stream } from "./provider-answer.ts";
import { sample } from "./sample.ts";

interface Tool {
  name: string;
  input_schema?: unknown;
}

export function anthropic({ model, tools, tool_choice, stream: streamed }: Body, response: ServerResponse): void {
  const choice = tool_choice as { type?: string; name?: string } | undefined;
  const known = (tools ?? []) as Tool[];
  const tool = choice?.type === "any" ? known.at(-1) : known.find(({ name }) => name === choice?.name);
  const args = tool && sample(tool.input_schema ?? {});
  const block = tool
    ? { type: "tool_use", id: `toolu_${Date.now()}`, name: tool.name, input: args }
    : { type: "text", text: SENTENCE };
  const stop_reason = tool ? "tool_use" : "end_turn";
  const usage = { input_tokens: 5, output_tokens: 5 };
  const message = { id: "msg_1", type: "message", role: "assistant", model, stop_sequence: null };
  if (!streamed) return json(response, { ...message, content: [block], stop_reason, usage });
  const delta = tool
    ? { type: "input_json_delta", partial_json: JSON.stringify(args) }
    : { type: "text_delta", text: SENTENCE };
  const empty = tool ? { ...block, input: {} } : { type: "text", text: "" };
  const events: Body[] = [
    { type: "message_start", message: { ...message, content: [], stop_reason: null, usage } },
    { type: "content_block_start", index: 0, content_block: empty },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } },
    { type: "message_stop" },
  ];
  stream(
    response,
    events.map((event) => [String(event.type), event]),
  );
}
