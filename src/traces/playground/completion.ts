/** The answer of a model as it comes: OpenAI's chunks, summed. */
import { isObject, parseBoundedJson, parseJson } from "../../lib/json.ts";
import { dataLines } from "../../agents/models/workers-ai.ts";

/** A failure of a model that the caller may read. */
export class ModelFailure extends Error {
  override name = "ModelFailure";

  /** `status`: that of the provider, where it answered. */
  constructor(
    message: string,
    readonly status?: number,
  ) {
    super(message);
  }
}

/** Why a call has failed, for programs. `cancelled`: its reader has left. */
export type CallFaultKind = "cancelled" | "timeout" | "provider" | "connection";

export interface CallFault {
  kind: CallFaultKind;
  /** What the caller may read. */
  message: string;
}

/** Characters of a provider's message. */
const MAX_ERROR_TEXT = 500;
/** What providers quote of keys, as "Incorrect API key provided: sk-ab****yz". */
const KEYS = /\b(?:(?:sk|pk|key|gsk|xai)[-_]|Bearer )[\w*.-]{6,}/g;

/** The text without the key of the call, and without what looks like a key. */
export function withoutKeys(text: string, key: string | undefined): string {
  const known = key === undefined || key === "" ? text : text.replaceAll(key, "[key]");
  return known.replaceAll(KEYS, "[key]").slice(0, MAX_ERROR_TEXT);
}

// Work that a signal ends, also where the platform reads on: a call of a binding knows no signal, nor does the body of an answer.

/** The promise's value, or the signal's reason when that comes first. */
export async function within<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const ended = Promise.withResolvers<never>();
  const end = () => ended.reject(signal.reason);
  signal.addEventListener("abort", end);
  try {
    return await Promise.race([work, ended.promise]);
  } finally {
    signal.removeEventListener("abort", end);
  }
}

/** Characters of an answer with its tool calls. */
const MAX_COMPLETION = 1_000_000;
/** Bytes of an answer that is no stream, and of an error. */
const MAX_WHOLE_RESPONSE = 4 * 1024 * 1024;

export interface CallPart {
  index: number;
  id?: string;
  name?: string;
  args?: string;
}

/** What a chunk adds. */
export interface Delta {
  content?: string;
  reasoning?: string;
  tool_calls?: CallPart[];
}

export interface UsageMetadata {
  input_tokens: number;
  output_tokens: number;
  total_tokens: number;
  input_token_details?: Record<string, number>;
  output_token_details?: Record<string, number>;
}

/** What has come so far. */
export class Completion {
  content = "";
  calls: { id: string; name: string; args: string }[] = [];
  finish: string | undefined;
  usage: UsageMetadata | undefined;
  #size = 0;

  /** What is new in a chunk; undefined when nothing is shown. @throws ModelFailure */
  take(chunk: unknown): Delta | undefined {
    if (!isObject(chunk)) throw new ModelFailure("The model did not answer as OpenAI's chat completions do.");
    if (chunk["error"] !== undefined && chunk["error"] !== null)
      throw new ModelFailure(errorText(chunk) ?? "The model failed.");
    this.usage = usageIn(chunk["usage"]) ?? this.usage;
    const [choice] = Array.isArray(chunk["choices"]) ? (chunk["choices"] as unknown[]) : [];
    if (!isObject(choice)) return undefined;
    if (typeof choice["finish_reason"] === "string") this.finish = choice["finish_reason"];
    const said = isObject(choice["delta"]) ? choice["delta"] : isObject(choice["message"]) ? choice["message"] : {};
    return this.#add(said);
  }

  #add(said: Record<string, unknown>): Delta | undefined {
    const { content, reasoning_content, reasoning = reasoning_content, tool_calls } = said;
    const delta: Delta = {
      ...(typeof content === "string" && content !== "" && { content }),
      ...(typeof reasoning === "string" && reasoning !== "" && { reasoning }),
    };
    this.content += delta.content ?? "";
    const parts = (Array.isArray(tool_calls) ? (tool_calls as unknown[]) : []).filter(isObject).map(partIn);
    for (const { index, id, name, args } of parts) {
      const call = (this.calls[index] ??= { id: "", name: "", args: "" });
      call.id ||= id ?? "";
      call.name += name ?? "";
      call.args += args ?? "";
    }
    if (parts.length > 0) delta.tool_calls = parts;
    this.#size += JSON.stringify(delta).length;
    if (this.#size > MAX_COMPLETION * 2 || this.content.length > MAX_COMPLETION)
      throw new ModelFailure(`The model's answer is longer than ${MAX_COMPLETION} characters.`);
    return Object.keys(delta).length > 0 ? delta : undefined;
  }

  /** The tool calls with their arguments parsed. Arguments that are no JSON object are kept as a text. */
  get toolCalls(): { id: string; name: string; args: Record<string, unknown> }[] {
    return this.calls.filter(Boolean).map(({ id, name, args }) => {
      const parsed = args === "" ? {} : parseBoundedJson(args);
      return { id, name, args: isObject(parsed) ? parsed : { input: args } };
    });
  }
}

/** The most tool calls of an answer: an index is a place in a list. */
const MAX_CALLS = 128;

function partIn(call: Record<string, unknown>, at: number): CallPart {
  const index = Number.isSafeInteger(call["index"]) ? Number(call["index"]) : at;
  if (index < 0 || index >= MAX_CALLS) throw new ModelFailure(`The model called more than ${MAX_CALLS} tools.`);
  const { name, arguments: args } = isObject(call["function"]) ? call["function"] : {};
  return {
    index,
    ...(typeof call["id"] === "string" && { id: call["id"] }),
    ...(typeof name === "string" && { name }),
    ...(typeof args === "string" && { args }),
  };
}

function usageIn(usage: unknown): UsageMetadata | undefined {
  if (!isObject(usage)) return undefined;
  const count = (value: unknown) => (typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : 0);
  const input_tokens = count(usage["prompt_tokens"]);
  const output_tokens = count(usage["completion_tokens"]);
  if (input_tokens + output_tokens === 0) return undefined;
  const input = isObject(usage["prompt_tokens_details"]) ? usage["prompt_tokens_details"] : {};
  const output = isObject(usage["completion_tokens_details"]) ? usage["completion_tokens_details"] : {};
  const details = (given: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(given).filter(([, value]) => count(value) > 0)) as Record<string, number>;
  return {
    input_tokens,
    output_tokens,
    total_tokens: count(usage["total_tokens"]) || input_tokens + output_tokens,
    input_token_details: details({ cache_read: input["cached_tokens"], audio: input["audio_tokens"] }),
    output_token_details: details({ reasoning: output["reasoning_tokens"], audio: output["audio_tokens"] }),
  };
}

/** The chunks of a response, until `signal` ends it. @throws ModelFailure */
export async function* chunksIn(response: Response, signal: AbortSignal): AsyncGenerator {
  if (!response.ok) {
    const said = errorText(parseJson(await within(signal, textIn(response))));
    throw new ModelFailure(
      `The model answered ${response.status}${said === undefined ? "." : `: ${said}`}`,
      response.status,
    );
  }
  if (!response.headers.get("content-type")?.includes("text/event-stream") || !response.body) {
    yield parseJson(await within(signal, textIn(response)));
    return;
  }
  const reader = response.body.pipeThrough(dataLines()).getReader();
  try {
    for (;;) {
      const { done, value } = await within(signal, reader.read());
      if (done || value === "[DONE]") return;
      yield parseJson(value);
    }
  } finally {
    // Ends the request to the model. It is not waited for: the other side may be the one that hangs.
    void reader.cancel().catch(() => undefined);
  }
}

/** The message of an error in OpenAI's form, and in those of others. */
function errorText(body: unknown): string | undefined {
  if (!isObject(body)) return undefined;
  const error = body["error"] ?? body;
  const said = isObject(error) ? (error["message"] ?? error["detail"]) : error;
  return typeof said === "string" && said !== "" ? said : undefined;
}

async function textIn({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_WHOLE_RESPONSE) throw new ModelFailure("The model's answer is too large.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
