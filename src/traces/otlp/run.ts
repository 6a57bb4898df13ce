/** From a span to a run of a trace, as the LangSmith platform maps it (reference: tracing, section 2.7). */
import { dashed } from "../../http/uuid.ts";
import { asUuid } from "../dotted.ts";
import { isObject } from "../../http/json.ts";
import { CONTENT_EVENT, inputsOf, outputsOf, parsed } from "./messages.ts";
import type { Attributes, OtlpSpan } from "./span.ts";

const RUN_TYPES = new Set(["llm", "chain", "tool", "retriever", "embedding", "prompt", "parser"]);
const OPERATIONS: Record<string, string> = {
  chat: "llm",
  completion: "llm",
  text_completion: "llm",
  generate_content: "llm",
  embedding: "embedding",
  embeddings: "embedding",
  execute_tool: "tool",
  chain: "chain",
  retriever: "retriever",
};
const KINDS: Record<string, string> = {
  workflow: "chain",
  task: "chain",
  agent: "chain",
  reranker: "retriever",
  guardrail: "chain",
  evaluator: "chain",
};
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
];

/**
 * The run object of a span, in the shape that `/runs` takes. `runIds` names the spans of the request that have ids of
 * their own, for their children refer to them by span id.
 */
export function runOfSpan(
  span: OtlpSpan,
  runIds: Map<string, string>,
  project: string | undefined,
): Record<string, unknown> {
  const { attributes } = span;
  const parentId = asUuid(attributes["langsmith.span.parent_id"]) ?? parentOf(span, runIds);
  const isRoot = parentId === undefined;
  return {
    id: runIdOf(span),
    trace_id: asUuid(attributes["langsmith.trace.id"]) ?? dashed(span.traceId),
    parent_run_id: parentId,
    dotted_order: text(attributes["langsmith.span.dotted_order"]),
    is_root: isRoot && attributes["langsmith.span.dotted_order"] === undefined ? true : undefined,
    name: nameOf(span),
    run_type: runTypeOf(attributes),
    session_name: text(attributes["langsmith.trace.session_name"]) ?? project,
    session_id: asUuid(attributes["langsmith.trace.session_id"]),
    start_time: span.start,
    end_time: span.end,
    inputs: inputsOf(span),
    outputs: outputsOf(span),
    error: errorOf(span),
    tags: tagsOf(attributes["langsmith.span.tags"] ?? attributes["tag.tags"]),
    reference_example_id: asUuid(attributes["langsmith.reference_example_id"]),
    events: span.events
      .filter(({ name }) => !CONTENT_EVENT.test(name))
      .map(({ name, time, attributes: kwargs }) => ({
        name,
        time: time === undefined ? undefined : new Date(time / 1000).toISOString(),
        kwargs,
      })),
    extra: {
      metadata: metadataOf(span),
      invocation_params: invocationOf(attributes),
      runtime: { sdk: text(span.resource["telemetry.sdk.name"]) ?? "opentelemetry" },
    },
  };
}

/** The run's id: the LangSmith SDK's own, else from the span id. */
export function runIdOf({ attributes, spanId }: OtlpSpan): string {
  return asUuid(attributes["langsmith.span.id"]) ?? spanUuid(spanId);
}

function parentOf({ parentSpanId, attributes }: OtlpSpan, runIds: Map<string, string>): string | undefined {
  const known = text(attributes["langsmith.traceable_parent_otel_span_id"]) ?? parentSpanId;
  if (known === "" || /^0+$/.test(known)) return undefined;
  return runIds.get(known) ?? spanUuid(known);
}

/** `00000000-0000-0000-XXXX-XXXXXXXXXXXX` from the 8 bytes of a span id. */
function spanUuid(hex: string): string {
  return dashed(hex.padStart(32, "0"));
}

function nameOf({ attributes, name }: OtlpSpan): string {
  const tool = text(attributes["tool.name"]) ?? text(attributes["gen_ai.tool.name"]);
  return text(attributes["langsmith.trace.name"]) ?? text(attributes["traceloop.entity.name"]) ?? tool ?? name;
}

function runTypeOf(attributes: Attributes): string {
  const stated = text(attributes["langsmith.span.kind"])?.toLowerCase();
  if (stated && RUN_TYPES.has(stated)) return stated;
  if (attributes["gen_ai.tool.name"] !== undefined) return "tool";
  const operation = OPERATIONS[text(attributes["gen_ai.operation.name"])?.toLowerCase() ?? ""];
  if (operation) return operation;
  const kind = (text(attributes["openinference.span.kind"]) ?? text(attributes["traceloop.span.kind"]))?.toLowerCase();
  if (kind) return RUN_TYPES.has(kind) ? kind : (KINDS[kind] ?? "chain");
  const request = text(attributes["traceloop.llm.request.type"]) ?? text(attributes["llm.request.type"]);
  if (request) return OPERATIONS[request.toLowerCase()] ?? "llm";
  return attributes["llm.prompt_template.variables"] === undefined ? "chain" : "prompt";
}

/** An exception event is an error for every status: the SDK's own bridge sends OK with it. */
function errorOf({ events, status }: OtlpSpan): string | undefined {
  const exception = events.find(({ name }) => name === "exception")?.attributes;
  if (exception) {
    const message = text(exception["exception.message"]) ?? text(exception["exception.type"]) ?? "exception";
    const stack = text(exception["exception.stacktrace"]);
    return stack ? `${message}\n\n${stack}` : message;
  }
  return status.code === 2 ? status.message || "error" : undefined;
}

function tagsOf(value: unknown): string[] | undefined {
  const list = Array.isArray(value) ? value : typeof value === "string" ? value.split(",") : [];
  const tags = list.filter((tag) => typeof tag === "string").map((tag) => tag.trim());
  return tags.filter((tag) => tag !== "");
}

const METADATA = ["langsmith.metadata.", "traceloop.association.properties.", "service.metadata."];

function metadataOf({ attributes, resource }: OtlpSpan): Record<string, unknown> {
  const metadata: Record<string, unknown> = { ...resource };
  const whole = parsed(attributes["metadata"]);
  if (isObject(whole)) Object.assign(metadata, whole);
  for (const [name, value] of Object.entries(attributes)) {
    const prefix = METADATA.find((one) => name.startsWith(one));
    if (prefix) metadata[name.slice(prefix.length)] = value;
  }
  const provider =
    text(attributes["gen_ai.system"]) ?? text(attributes["gen_ai.provider.name"]) ?? text(attributes["llm.system"]);
  const model =
    text(attributes["gen_ai.response.model"]) ??
    text(attributes["gen_ai.request.model"]) ??
    text(attributes["llm.model_name"]);
  if (provider) metadata["ls_provider"] ??= provider;
  if (model) metadata["ls_model_name"] ??= model;
  const thread = text(attributes["session.id"]) ?? text(attributes["gen_ai.conversation.id"]);
  if (thread) metadata["thread_id"] ??= thread;
  const usage = usageOf(attributes);
  if (usage) metadata["usage_metadata"] = usage;
  return metadata;
}

function usageOf(attributes: Attributes): object | undefined {
  const stated = parsed(attributes["langsmith.usage_metadata"]);
  if (isObject(stated)) return stated;
  const pick = (...names: string[]) => names.map((name) => attributes[name]).find((value) => typeof value === "number");
  const input_tokens = pick("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt");
  const output_tokens = pick(
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
  );
  const total_tokens = pick("gen_ai.usage.total_tokens", "llm.token_count.total", "llm.usage.total_tokens");
  if ([input_tokens, output_tokens, total_tokens].every((value) => value === undefined)) return undefined;
  const reasoning = pick("gen_ai.usage.details.reasoning_tokens", "llm.token_count.completion_details.reasoning");
  const cached = pick("gen_ai.usage.cache_read_input_tokens", "llm.token_count.prompt_details.cache_read");
  return {
    input_tokens,
    output_tokens,
    total_tokens,
    ...(cached === undefined ? {} : { input_token_details: { cache_read: cached } }),
    ...(reasoning === undefined ? {} : { output_token_details: { reasoning } }),
  };
}

function invocationOf(attributes: Attributes): Record<string, unknown> {
  const stated = parsed(attributes["llm.invocation_parameters"]);
  const params: Record<string, unknown> = isObject(stated) ? { ...stated } : {};
  for (const name of INVOCATION) {
    const value = attributes[`gen_ai.request.${name}`];
    if (value !== undefined) params[name] = value;
  }
  const more = {
    stop: attributes["gen_ai.request.stop_sequences"],
    response_model: attributes["gen_ai.response.model"],
    functions: parsed(attributes["llm.request.functions"]),
    tools: parsed(attributes["tools"]),
    tool_name: attributes["gen_ai.tool.name"],
  };
  for (const [name, value] of Object.entries(more)) if (value !== undefined) params[name] = value;
  return params;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
