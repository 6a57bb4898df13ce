/** A call in the form of OpenAI's chat completions. */
import type { TemplateMessage } from "../agents/prompts/template.ts";
import type { CallBody } from "../traces/playground/schema.ts";

const ROLES = { system: "system", human: "user", ai: "assistant", tool: "tool", placeholder: "user" };

export interface FilledCall {
  messages: TemplateMessage[];
  tools: NonNullable<CallBody["tools"]>;
  settings: Record<string, unknown>;
}

export function requestBody(model: string, { messages, tools, settings }: FilledCall): object {
  return {
    model,
    ...settings,
    messages: messages.map(openAiMessage),
    ...(tools.length > 0 && { tools }),
    stream: true,
    stream_options: { include_usage: true },
  };
}

/** The same message in OpenAI's form; of the trace, too. */
export function openAiMessage({ role, content, tool_calls = [], tool_call_id }: TemplateMessage) {
  return {
    role: ROLES[role],
    content,
    ...(tool_calls.length > 0 && {
      tool_calls: tool_calls.map(({ id, name, args }) => ({
        id,
        type: "function",
        function: { name, arguments: JSON.stringify(args) },
      })),
    }),
    ...(role === "tool" && { tool_call_id }),
  };
}
