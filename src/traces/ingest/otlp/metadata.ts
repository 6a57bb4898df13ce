/** The metadata of a span, its model's parameters among them. */
import { isObject } from "../../../lib/json.ts";
import { firstText, parseValue, readText, unflatten } from "../../otlp/flat.ts";
import type { Attributes, OtlpSpan } from "../../otlp/span.ts";
import { readUsage } from "../../otlp/usage.ts";

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
