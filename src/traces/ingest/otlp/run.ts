/** From a span to a run of a trace, as the LangSmith platform maps it (reference: tracing, section 2.7). */
import { RUN_TYPES } from "../../types.ts";
import { firstText, readText, readInvocation, readMetadata } from "./metadata.ts";
import type { Attributes, OtlpSpan } from "./decode.ts";
import { addDashes } from "../../../lib/uuid.ts";
import { asUuid } from "../../time.ts";
import { CONTENT_EVENT, readInputs, readOutputs } from "./messages.ts";

// The run type and the name of a span.

/** By `gen_ai.operation.name`, and by OpenLLMetry's type of a request. */
const OPERATIONS = new Map([
  ["chat", "llm"],
  ["completion", "llm"],
  ["text_completion", "llm"],
  ["generate_content", "llm"],
  ["fetch_response", "llm"],
  ["embedding", "embedding"],
  ["embeddings", "embedding"],
  ["execute_tool", "tool"],
  ["retrieval", "retriever"],
  ["retriever", "retriever"],
  ["rerank", "retriever"],
  ["search_memory", "retriever"],
  ["create_memory", "tool"],
  ["update_memory", "tool"],
  ["upsert_memory", "tool"],
  ["delete_memory", "tool"],
  ["chain", "chain"],
  ["create_agent", "chain"],
  ["invoke_agent", "chain"],
  ["agent_step", "chain"],
  ["invoke_workflow", "chain"],
  ["plan", "chain"],
]);

/** By `openinference.span.kind` and `traceloop.span.kind`, where these are no run types. */
const KINDS = new Map([
  ["workflow", "chain"],
  ["task", "chain"],
  ["agent", "chain"],
  ["reranker", "retriever"],
  ["guardrail", "chain"],
  ["evaluator", "chain"],
]);

/** By `ai.operationId` of the AI SDK. An operation is a chain of calls, `….doGenerate` is one call of the model. */
const AI_SDK: [RegExp, string][] = [
  [/^ai\.toolCall$/, "tool"],
  [/^ai\.embed/, "embedding"],
  [/^ai\.rerank/, "retriever"],
  [/\.do[A-Z]\w*$/, "llm"],
  [/^ai\./, "chain"],
];

/** The run type that the first convention found states; "chain" when none does. */
export function readRunType(attributes: Attributes): string {
  const stated = readText(attributes["langsmith.span.kind"])?.toLowerCase();
  if (stated && RUN_TYPES.has(stated)) return stated;
  if (attributes["gen_ai.tool.name"] !== undefined) return "tool";
  const operation = OPERATIONS.get(readText(attributes["gen_ai.operation.name"])?.toLowerCase() ?? "");
  if (operation) return operation;
  const kind = firstText(attributes, ["openinference.span.kind", "traceloop.span.kind"])?.toLowerCase();
  if (kind) return RUN_TYPES.has(kind) ? kind : (KINDS.get(kind) ?? "chain");
  const ofAiSdk = readText(attributes["ai.operationId"]);
  if (ofAiSdk) return AI_SDK.find(([pattern]) => pattern.test(ofAiSdk))?.[1] ?? "chain";
  const request = firstText(attributes, ["traceloop.llm.request.type", "llm.request.type"]);
  if (request) return OPERATIONS.get(request.toLowerCase()) ?? "llm";
  return attributes["llm.prompt_template.variables"] === undefined ? "chain" : "prompt";
}

/** The attribute with the name of a span's tool, agent or workflow, by operation. */
const NAMES: [RegExp, string][] = [
  [/^(create|invoke)_agent$/, "gen_ai.agent.name"],
  [/^invoke_workflow$/, "gen_ai.workflow.name"],
];
const TOOLS = ["tool.name", "gen_ai.tool.name", "ai.toolCall.name"];

/** The name of the run: of its tool, agent or workflow if the span has one, else the span's. */
export function readRunName({ attributes, name }: OtlpSpan): string {
  const operation = readText(attributes["gen_ai.operation.name"]) ?? "";
  const owner = NAMES.find(([pattern]) => pattern.test(operation))?.[1];
  return (
    firstText(attributes, ["langsmith.trace.name", "traceloop.entity.name", ...TOOLS]) ??
    (owner === undefined ? undefined : readText(attributes[owner])) ??
    readFunctionId(attributes) ??
    name
  );
}

/** The `functionId` of a whole operation of the AI SDK. Its calls of the model have it, too. */
function readFunctionId(attributes: Attributes): string | undefined {
  const isWhole = /^ai\.\w+$/.test(readText(attributes["ai.operationId"]) ?? "");
  return isWhole ? readText(attributes["ai.telemetry.functionId"]) : undefined;
}

/**
 * The run object of a span, in the shape that `/runs` takes. `runIds` names the spans of the request that have ids of
 * their own, for their children refer to them by span id.
 */
export function toRun(
  span: OtlpSpan,
  runIds: Map<string, string>,
  project: string | undefined,
): Record<string, unknown> {
  const { attributes } = span;
  const parentId = asUuid(attributes["langsmith.span.parent_id"]) ?? findParent(span, runIds);
  const isRoot = parentId === undefined;
  return {
    id: readRunId(span),
    trace_id: asUuid(attributes["langsmith.trace.id"]) ?? addDashes(span.traceId),
    parent_run_id: parentId,
    dotted_order: readText(attributes["langsmith.span.dotted_order"]),
    is_root: isRoot && attributes["langsmith.span.dotted_order"] === undefined ? true : undefined,
    name: readRunName(span),
    run_type: readRunType(attributes),
    session_name: readProject(span, project),
    session_id: asUuid(attributes["langsmith.trace.session_id"]),
    start_time: span.start,
    end_time: span.end,
    first_token_time: readFirstToken(span),
    inputs: readInputs(span),
    outputs: readOutputs(span),
    error: readError(span),
    tags: readTags(attributes["langsmith.span.tags"] ?? attributes["tag.tags"]),
    reference_example_id: asUuid(attributes["langsmith.reference_example_id"]),
    events: span.events
      .filter(({ name }) => !CONTENT_EVENT.test(name))
      .map(({ name, time, attributes: kwargs }) => ({
        name,
        time: time === undefined ? undefined : new Date(time / 1000).toISOString(),
        kwargs,
      })),
    extra: {
      metadata: readMetadata(span),
      invocation_params: readInvocation(attributes),
      runtime: { sdk: readText(span.resource["telemetry.sdk.name"]) ?? "opentelemetry" },
    },
  };
}

/** The project: what LangSmith's attribute says, else the header of the request, else the project of OpenInference. */
function readProject({ attributes, resource }: OtlpSpan, header: string | undefined): string | undefined {
  const own = "langsmith.trace.session_name";
  return (
    readText(attributes[own]) ?? readText(resource[own]) ?? header ?? readText(resource["openinference.project.name"])
  );
}

/** The run's id: the LangSmith SDK's own, else from the span id. */
export function readRunId({ attributes, spanId }: OtlpSpan): string {
  return asUuid(attributes["langsmith.span.id"]) ?? spanUuid(spanId);
}

function findParent({ parentSpanId, attributes }: OtlpSpan, runIds: Map<string, string>): string | undefined {
  const known = readText(attributes["langsmith.traceable_parent_otel_span_id"]) ?? parentSpanId;
  if (known === "" || /^0+$/.test(known)) return undefined;
  return runIds.get(known) ?? spanUuid(known);
}

/** `00000000-0000-0000-XXXX-XXXXXXXXXXXX` from the 8 bytes of a span id. */
function spanUuid(hex: string): string {
  return addDashes(hex.padStart(32, "0"));
}

/** An exception event is an error for every status: the SDK's own bridge sends OK with it. */
function readError({ events, status }: OtlpSpan): string | undefined {
  const exception = events.find(({ name }) => name === "exception")?.attributes;
  if (exception) {
    const message = readText(exception["exception.message"]) ?? readText(exception["exception.type"]) ?? "exception";
    const stack = readText(exception["exception.stacktrace"]);
    return stack ? `${message}\n\n${stack}` : message;
  }
  return status.code === 2 ? status.message || "error" : undefined;
}

function readTags(value: unknown): string[] | undefined {
  const list = Array.isArray(value) ? value : typeof value === "string" ? value.split(",") : [];
  const tags = list.filter((tag) => typeof tag === "string").map((tag) => tag.trim());
  return tags.filter((tag) => tag !== "");
}

/** How long the model took to its first token, by name and the attribute's unit in microseconds. */
const FIRST_TOKEN: [string, number][] = [
  ["gen_ai.response.time_to_first_chunk", 1e6],
  ["gen_ai.client.operation.time_to_first_chunk", 1e6],
  ["ai.response.msToFirstChunk", 1e3],
  ["ai.stream.msToFirstChunk", 1e3],
];

function readFirstToken({ attributes, start }: OtlpSpan): number | undefined {
  const found = FIRST_TOKEN.find(([name]) => typeof attributes[name] === "number");
  return found && start !== undefined ? Math.round(start + Number(attributes[found[0]]) * found[1]) : undefined;
}
