/** The metadata of a span, its model's parameters among them. */
import { isObject, parseBoundedJson } from "../../../lib/json.ts";
import type { Attributes, OtlpSpan } from "./decode.ts";

// Attributes that spread one value over several names: `prefix.3.a.b`.

/** A list of objects from attributes such as `prefix.3.a.b`, in the order of their numbers. */
export function unflatten(attributes: Attributes, prefix: string): Record<string, unknown>[] {
  const own = Object.entries(attributes).filter(
    ([name]) => name.startsWith(`${prefix}.`) && /^\d{1,5}\./.test(name.slice(prefix.length + 1)),
  );
  const groups = Map.groupBy(own, ([name]) => Number(name.slice(prefix.length + 1).split(".")[0]));
  return [...groups.entries()]
    .sort(([a], [b]) => a - b)
    .map(([index, entries]) =>
      nestAttributes(
        Object.fromEntries(
          entries.map(([name, value]) => [name.slice(prefix.length + String(index).length + 2), value]),
        ),
      ),
    );
}

/** `{"a.b": 1, "c.0.d": 2}` as `{a: {b: 1}, c: [{d: 2}]}`. */
export function nestAttributes(flat: Attributes): Record<string, unknown> {
  const root = Object.create(null) as Record<string, unknown>;
  for (const [name, value] of Object.entries(flat)) {
    const path = name.split(".").slice(0, 20);
    let at = root;
    for (const step of path.slice(0, -1)) {
      if (!isObject(at[step])) at[step] = Object.create(null) as Record<string, unknown>;
      at = at[step] as Record<string, unknown>;
    }
    at[path.at(-1) ?? ""] = value;
  }
  return lists(root) as Record<string, unknown>;
}

function lists(value: unknown): unknown {
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, lists(item)] as const);
  const isList = entries.length > 0 && entries.every(([key]) => /^\d{1,5}$/.test(key));
  return isList
    ? entries.sort(([a], [b]) => Number(a) - Number(b)).map(([, item]) => item)
    : Object.fromEntries(entries);
}

/** JSON texts as what they say, other values as they are. */
export function parseValue(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*[[{"]/.test(value)) return value;
  const json = parseBoundedJson(value);
  return json === undefined ? value : json;
}

/** A text with characters, else undefined. */
export function readText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The first of these attributes that is a text with characters. */
export function firstText(attributes: Attributes, names: readonly string[]): string | undefined {
  return names.map((name) => readText(attributes[name])).find((value) => value !== undefined);
}

// Tokens and costs that a span reports, under the names of each convention.

/** The names of each count, of which the first that is a number counts. */
type Names = Record<string, readonly string[]>;

const COUNTS: Names = {
  input_tokens: [
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt",
    "llm.usage.prompt_tokens",
    "ai.usage.inputTokens",
    "ai.usage.promptTokens",
    "ai.usage.tokens",
  ],
  output_tokens: [
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
    "llm.usage.completion_tokens",
    "ai.usage.outputTokens",
    "ai.usage.completionTokens",
  ],
  total_tokens: [
    "gen_ai.usage.total_tokens",
    "llm.token_count.total",
    "llm.usage.total_tokens",
    "ai.usage.totalTokens",
  ],
  // US dollars.
  input_cost: ["llm.cost.prompt", "gen_ai.usage.input_cost"],
  output_cost: ["llm.cost.completion", "gen_ai.usage.output_cost"],
  total_cost: ["llm.cost.total", "gen_ai.usage.cost", "gen_ai.usage.total_cost"],
};

const INPUT_DETAILS: Names = {
  cache_read: [
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "gen_ai.usage.details.cache_read_tokens",
    "llm.token_count.prompt_details.cache_read",
    "ai.usage.inputTokenDetails.cacheReadTokens",
    "ai.usage.cachedInputTokens",
  ],
  cache_creation: [
    "gen_ai.usage.cache_write.input_tokens",
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_creation_input_tokens",
    "gen_ai.usage.details.cache_write_tokens",
    "llm.token_count.prompt_details.cache_write",
    "ai.usage.inputTokenDetails.cacheWriteTokens",
  ],
  audio: ["gen_ai.usage.audio.input_tokens", "llm.token_count.prompt_details.audio"],
  image: ["gen_ai.usage.image.input_tokens"],
};

const OUTPUT_DETAILS: Names = {
  reasoning: [
    "gen_ai.usage.reasoning.output_tokens",
    "gen_ai.usage.details.reasoning_tokens",
    "llm.token_count.completion_details.reasoning",
    "ai.usage.outputTokenDetails.reasoningTokens",
    "ai.usage.reasoningTokens",
  ],
  audio: ["gen_ai.usage.audio.output_tokens", "llm.token_count.completion_details.audio"],
  image: ["gen_ai.usage.image.output_tokens"],
};

/** The `usage_metadata` of a span; undefined when it reports no tokens and no costs. */
export function readUsage(attributes: Attributes): object | undefined {
  const stated = parseValue(attributes["langsmith.usage_metadata"]);
  if (isObject(stated)) return stated;
  const counts = readNumbers(attributes, COUNTS);
  if (counts === undefined) return undefined;
  const input_token_details = readNumbers(attributes, INPUT_DETAILS);
  const output_token_details = readNumbers(attributes, OUTPUT_DETAILS);
  return {
    ...counts,
    ...(input_token_details && { input_token_details }),
    ...(output_token_details && { output_token_details }),
  };
}

function readNumbers(attributes: Attributes, names: Names): Record<string, unknown> | undefined {
  const found = Object.entries(names).flatMap(([key, ways]) => {
    const value = ways.map((name) => attributes[name]).find((one) => typeof one === "number");
    return value === undefined ? [] : [[key, value] as const];
  });
  return found.length > 0 ? Object.fromEntries(found) : undefined;
}

/** Attributes with these prefixes are metadata under the rest of the name: those of the span, and of the resource. */
const PREFIXES = [
  "langsmith.metadata.",
  "traceloop.association.properties.",
  "service.metadata.",
  "ai.telemetry.metadata.",
  "ai.settings.context.",
  "metadata.",
];

/** Prefixes of conventions that the tables read. Any other attribute is metadata under its own name. */
const READ =
  /^(langsmith|traceloop|gen_ai|llm|ai|input|output|retrieval|reranker|embedding|tool|tag|openinference|session|user|agent)\.|^(metadata|prompt|tools|tool_arguments|tool_response|all_messages_events|operation\.name|resource\.name)$/;

/** Metadata by its key: the first of these attributes that is a text. */
const NAMED: Record<string, readonly string[]> = {
  ls_model_name: [
    "gen_ai.response.model",
    "gen_ai.request.model",
    "llm.model_name",
    "llm.response.model_name",
    "llm.request.model_name",
    "embedding.model_name",
    "reranker.model_name",
    "ai.response.model",
    "ai.model.id",
  ],
  thread_id: [
    "session.id",
    "gen_ai.conversation.id",
    "ai.telemetry.metadata.threadId",
    "ai.telemetry.metadata.sessionId",
    "ai.telemetry.metadata.conversationId",
    "ai.settings.context.threadId",
  ],
  user_id: ["user.id", "enduser.id"],
  agent_id: ["gen_ai.agent.id"],
  agent_name: ["gen_ai.agent.name", "agent.name"],
  agent_version: ["gen_ai.agent.version"],
  workflow_name: ["gen_ai.workflow.name"],
  tool_call_id: ["gen_ai.tool.call.id", "ai.toolCall.id", "tool.id"],
  response_id: ["gen_ai.response.id", "ai.response.id"],
  finish_reason: ["ai.response.finishReason", "llm.finish_reason"],
};

const PROVIDERS = ["gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider"];

/** The metadata of the span's run, over that of its resource. */
export function readMetadata({ attributes, resource }: OtlpSpan): Record<string, unknown> {
  const whole = parseValue(attributes["metadata"]);
  const metadata: Record<string, unknown> = {
    ...pickPrefixed(resource),
    ...pickPrefixed(attributes),
    ...(isObject(whole) && whole),
  };
  for (const [key, names] of Object.entries(NAMED)) {
    const value = firstText(attributes, names) ?? (key === "thread_id" ? readText(resource["session.id"]) : undefined);
    if (value !== undefined) metadata[key] ??= value;
  }
  const provider = readProvider(attributes);
  if (provider) metadata["ls_provider"] ??= provider;
  const reasons = attributes["gen_ai.response.finish_reasons"];
  if (Array.isArray(reasons) && reasons.length > 0) metadata["finish_reason"] ??= reasons[0];
  const usage = readUsage(attributes);
  if (usage) metadata["usage_metadata"] = usage;
  return metadata;
}

/** Attributes that are metadata: those with a prefix without it, and those of no convention that is read. */
function pickPrefixed(attributes: Attributes): Record<string, unknown> {
  const entries = Object.entries(attributes).flatMap(([name, value]) => {
    const prefix = PREFIXES.find((one) => name.startsWith(one));
    if (prefix) return [[name.slice(prefix.length), value] as const];
    return READ.test(name) ? [] : [[name, value] as const];
  });
  return Object.fromEntries(entries);
}

/** The AI SDK names a provider with its API, `openai.chat`; prices and filters are by `openai`. */
function readProvider(attributes: Attributes): string | undefined {
  const provider = firstText(attributes, PROVIDERS);
  return provider?.replace(/^(openai|anthropic|google|mistral|cohere|groq|deepseek|xai|perplexity)\..*$/, "$1");
}

const INVOCATION = [
  "model",
  "temperature",
  "top_p",
  "top_k",
  "max_tokens",
  "frequency_penalty",
  "presence_penalty",
  "seed",
  "encoding_formats",
  "stream",
];

/** `extra.invocation_params` of a span. */
export function readInvocation(attributes: Attributes): Record<string, unknown> {
  const stated = parseValue(attributes["llm.invocation_parameters"]);
  const params: Record<string, unknown> = isObject(stated) ? { ...stated } : {};
  for (const name of INVOCATION) {
    const value = attributes[`gen_ai.request.${name}`];
    if (value !== undefined) params[name] = value;
  }
  const more = {
    n: attributes["gen_ai.request.choice.count"],
    reasoning_effort: attributes["gen_ai.request.reasoning.level"],
    stop: attributes["gen_ai.request.stop_sequences"],
    response_model: attributes["gen_ai.response.model"],
    functions: parseValue(attributes["llm.request.functions"]),
    tools: readTools(attributes),
    tool_choice: parseValue(attributes["ai.prompt.toolChoice"]),
    tool_name: attributes["gen_ai.tool.name"],
  };
  for (const [name, value] of Object.entries(more)) if (value !== undefined) params[name] = value;
  return params;
}

/** The tools that a model was offered. */
function readTools(attributes: Attributes): unknown {
  const whole = parseValue(attributes["gen_ai.tool.definitions"]) ?? parseValue(attributes["tools"]);
  if (whole !== undefined) return whole;
  const ofAiSdk = attributes["ai.prompt.tools"];
  if (Array.isArray(ofAiSdk)) return ofAiSdk.map(parseValue);
  const schemas = unflatten(attributes, "llm.tools").map(
    ({ tool }) => isObject(tool) && parseValue(tool["json_schema"]),
  );
  return schemas.length > 0 ? schemas : undefined;
}
