/** Answers of Workers AI, and their parts in the form of OpenAI's API. */

/** An answer in the form of the older models; newer ones answer as OpenAI does, with `choices`. */
export interface NativeAnswer {
  response?: string | null | object;
  tool_calls?: { name: string; arguments: unknown }[];
  usage?: Record<string, unknown>;
  choices?: unknown[];
}

export const completionId = () => `chatcmpl-${crypto.randomUUID()}`;

/** Text, or the JSON of an answer to `response_format`. */
export function readText(response: NativeAnswer["response"]): string {
  if (typeof response === "string") return response;
  return response ? JSON.stringify(response) : "";
}

/** Tool calls in OpenAI's form; undefined when there are none. */
export function readToolCalls({ tool_calls = [] }: NativeAnswer) {
  if (tool_calls.length === 0) return undefined;
  return tool_calls.map(({ name, arguments: given }, index) => ({
    index,
    id: `call_${crypto.randomUUID()}`,
    type: "function",
    function: { name, arguments: typeof given === "string" ? given : JSON.stringify(given ?? {}) },
  }));
}
