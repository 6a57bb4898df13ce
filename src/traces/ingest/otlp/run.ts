/** From a span to a run of a trace, as the LangSmith platform maps it (reference: tracing, section 2.7). */
import { addDashes } from "../../../lib/uuid.ts";
import { asUuid } from "../../dotted.ts";
import { readText } from "../../otlp/flat.ts";
import { readRunName, readRunType } from "../../otlp/kinds.ts";
import { CONTENT_EVENT, readInputs, readOutputs } from "./messages.ts";
import { readInvocation, readMetadata } from "./metadata.ts";
import type { OtlpSpan } from "../../otlp/span.ts";

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
