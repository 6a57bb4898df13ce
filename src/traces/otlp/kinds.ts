/** The run type and the name of a span. */
import { RUN_TYPES } from "../types.ts";
import { firstText, readText } from "./flat.ts";
import type { Attributes, OtlpSpan } from "./span.ts";

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
