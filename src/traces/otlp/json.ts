/** ExportTraceServiceRequest in JSON (OTLP/HTTP: lowerCamelCase names, ids in hex, 64-bit numbers as strings). */
import type { Json } from "../../lib/json.ts";
import { Problem } from "../../lib/problem.ts";
import { isObject } from "../../lib/json.ts";
import { type Attributes, toAttributes, MAX_ATTRIBUTE_DEPTH, type OtlpEvent, type OtlpSpan } from "./span.ts";

/** The spans of a request. 400 when it is no such message; what is odd inside a span is left out. */
export function spansFromJson(body: unknown): OtlpSpan[] {
  if (!isObject(body) || !Array.isArray(body["resourceSpans"])) {
    throw new Problem(400, "The body is not an ExportTraceServiceRequest: expected an object with resourceSpans.");
  }
  return objects(body["resourceSpans"]).flatMap((group) => {
    const resource = isObject(group["resource"]) ? attributes(group["resource"]["attributes"]) : {};
    const scopes = objects(group["scopeSpans"] ?? group["instrumentationLibrarySpans"]);
    return scopes.flatMap((scope) => objects(scope["spans"]).map((span) => readSpan(span, resource)));
  });
}

function readSpan(span: Json, resource: Attributes): OtlpSpan {
  const status = isObject(span["status"]) ? span["status"] : {};
  const code = status["code"];
  return {
    traceId: id(span["traceId"]),
    spanId: id(span["spanId"]),
    parentSpanId: id(span["parentSpanId"]),
    name: readText(span["name"]),
    start: micros(span["startTimeUnixNano"]),
    end: micros(span["endTimeUnixNano"]),
    attributes: attributes(span["attributes"]),
    resource,
    events: objects(span["events"]).map(readEvent),
    status: { code: code === "STATUS_CODE_ERROR" ? 2 : Number(code) || 0, message: readText(status["message"]) },
  };
}

function readEvent(event: Json): OtlpEvent {
  return {
    name: readText(event["name"]),
    time: micros(event["timeUnixNano"]),
    attributes: attributes(event["attributes"]),
  };
}

function attributes(list: unknown, depth = 0): Attributes {
  return toAttributes(
    objects(list).map((entry) => [readText(entry["key"]), readValue(entry["value"], depth)] as const),
  );
}

function readValue(given: unknown, depth: number): unknown {
  if (!isObject(given) || depth > MAX_ATTRIBUTE_DEPTH) return null;
  if ("stringValue" in given) return given["stringValue"];
  if ("boolValue" in given) return given["boolValue"];
  if ("intValue" in given) return Number(given["intValue"]);
  if ("doubleValue" in given) return given["doubleValue"];
  if ("bytesValue" in given) return given["bytesValue"];
  const { arrayValue, kvlistValue } = given;
  if (isObject(arrayValue))
    return Array.isArray(arrayValue["values"]) ? arrayValue["values"].map((item) => readValue(item, depth + 1)) : [];
  return isObject(kvlistValue) ? attributes(kvlistValue["values"], depth + 1) : null;
}

function objects(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function readText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function id(value: unknown): string {
  return typeof value === "string" && /^([0-9a-f]{2})+$/i.test(value) ? value.toLowerCase() : "";
}

function micros(nanos: unknown): number | undefined {
  if (typeof nanos !== "number" && !(typeof nanos === "string" && /^\d{1,20}$/.test(nanos))) return undefined;
  const value = typeof nanos === "string" ? Number(BigInt(nanos) / 1000n) : Math.floor(nanos / 1000);
  return value > 0 ? value : undefined;
}
