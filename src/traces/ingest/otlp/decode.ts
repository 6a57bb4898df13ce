/**
 * ExportTraceServiceRequest in protobuf (opentelemetry-proto, trace/v1). Read field by field: workerd forbids the code that
 * general decoders generate, and only these fields are of use here.
 */
import { Problem } from "../../../lib/problem.ts";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { tooManyValues, type Json, isObject } from "../../../lib/json.ts";

// A span as both encodings of OTLP give it.

export interface OtlpEvent {
  name: string;
  /** Microseconds. */
  time: number | undefined;
  attributes: Attributes;
}

export interface OtlpSpan {
  /** Lower-case hex: 32, 16 and 16 digits; no parent is "". */
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  /** Microseconds. */
  start: number | undefined;
  end: number | undefined;
  attributes: Attributes;
  /** Of the resource that sent it. */
  resource: Attributes;
  events: OtlpEvent[];
  status: { code: number; message: string };
}

/** Values are strings, numbers, booleans, lists and maps of these. */
export type Attributes = Record<string, unknown>;

/** The most spans of a request. */
export const MAX_SPANS = 10_000;

export function tooManySpans(): Problem {
  return new Problem(413, `More than ${MAX_SPANS} spans. Export fewer at a time.`);
}

/** Attribute values nested deeper are left out. */
export const MAX_ATTRIBUTE_DEPTH = 30;

/** An object without a prototype, for names come from outside. */
export function toAttributes(entries: Iterable<readonly [string, unknown]>): Attributes {
  const attributes = Object.create(null) as Attributes;
  for (const [key, value] of entries) attributes[key] = value;
  return attributes;
}

type Fields = Record<number, (reader: BinaryReader) => void>;

/**
 * The most values of a request: its fields, and four more for each message, which becomes an object. Two bytes can be one
 * message. A span of ten attributes has about 130 values.
 */
const MAX_VALUES = 2_000_000;
const MESSAGE_VALUES = 4;
interface Budget {
  /** How many values may still come. */
  values: number;
}

/** The spans of a request. @throws Problem 400 when the bytes are no such message, 413 when it has too many spans or values. */
export function spansFromProtobuf(bytes: Uint8Array): OtlpSpan[] {
  const spans: OtlpSpan[] = [];
  const budget = { values: MAX_VALUES };
  try {
    read(bytes, budget, { 1: (reader) => readResourceSpans(reader.bytes(), spans, budget) });
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem(400, "The body is not an ExportTraceServiceRequest in protobuf.");
  }
  return spans;
}

/** ExportTraceServiceResponse: empty when everything was taken. */
export function responseToProtobuf(rejected: number, message: string): Uint8Array {
  const writer = new BinaryWriter();
  if (rejected > 0)
    writer
      .tag(1, WireType.LengthDelimited)
      .fork()
      .tag(1, WireType.Varint)
      .int64(rejected)
      .tag(2, WireType.LengthDelimited)
      .string(message)
      .join();
  return writer.finish();
}

/** Reads the fields of one message. @throws Problem 413 when the request has too many values. */
function read(bytes: Uint8Array, budget: Budget, fields: Fields): void {
  const reader = new BinaryReader(bytes);
  budget.values -= MESSAGE_VALUES;
  while (reader.pos < reader.len) {
    budget.values -= 1;
    if (budget.values < 0) throw tooManyValues(MAX_VALUES);
    const [field, type] = reader.tag();
    const one = fields[field];
    if (one) one(reader);
    else reader.skip(type, field);
  }
}

function readResourceSpans(bytes: Uint8Array, spans: OtlpSpan[], budget: Budget): void {
  const own: OtlpSpan[] = [];
  let resource: Attributes = {};
  read(bytes, budget, {
    1: (reader) => (resource = readAttributes(reader.bytes(), 1, 0, budget)),
    2: (reader) =>
      read(reader.bytes(), budget, {
        2: (inner) => {
          if (spans.length + own.length === MAX_SPANS) throw tooManySpans();
          own.push(readSpan(inner.bytes(), budget));
        },
      }),
  });
  for (const span of own) spans.push({ ...span, resource });
}

function readSpan(bytes: Uint8Array, budget: Budget): OtlpSpan {
  const entries: [string, unknown][] = [];
  const span: Omit<OtlpSpan, "attributes"> = {
    traceId: "",
    spanId: "",
    parentSpanId: "",
    name: "",
    start: undefined,
    end: undefined,
    resource: {},
    events: [],
    status: { code: 0, message: "" },
  };
  read(bytes, budget, {
    1: (reader) => (span.traceId = hex(reader.bytes())),
    2: (reader) => (span.spanId = hex(reader.bytes())),
    4: (reader) => (span.parentSpanId = hex(reader.bytes())),
    5: (reader) => (span.name = reader.string()),
    7: (reader) => (span.start = micros(reader.fixed64())),
    8: (reader) => (span.end = micros(reader.fixed64())),
    9: (reader) => entries.push(readKeyValue(reader.bytes(), 0, budget)),
    11: (reader) => span.events.push(readEvent(reader.bytes(), budget)),
    15: (reader) =>
      read(reader.bytes(), budget, {
        2: (inner) => (span.status.message = inner.string()),
        3: (inner) => (span.status.code = inner.int32()),
      }),
  });
  return { ...span, attributes: toAttributes(entries) };
}

function readEvent(bytes: Uint8Array, budget: Budget): OtlpEvent {
  const entries: [string, unknown][] = [];
  const event: Omit<OtlpEvent, "attributes"> = { name: "", time: undefined };
  read(bytes, budget, {
    1: (reader) => (event.time = micros(reader.fixed64())),
    2: (reader) => (event.name = reader.string()),
    3: (reader) => entries.push(readKeyValue(reader.bytes(), 0, budget)),
  });
  return { ...event, attributes: toAttributes(entries) };
}

/** A message whose field of this number is a list of KeyValue. */
function readAttributes(bytes: Uint8Array, field: number, depth: number, budget: Budget): Attributes {
  const entries: [string, unknown][] = [];
  read(bytes, budget, { [field]: (reader) => entries.push(readKeyValue(reader.bytes(), depth, budget)) });
  return toAttributes(entries);
}

function readKeyValue(bytes: Uint8Array, depth: number, budget: Budget): [string, unknown] {
  let key = "";
  let value: unknown = null;
  read(bytes, budget, {
    1: (reader) => (key = reader.string()),
    2: (reader) => (value = readValue(reader.bytes(), depth, budget)),
  });
  return [key, value];
}

function readValue(bytes: Uint8Array, depth: number, budget: Budget): unknown {
  let value: unknown = null;
  const list: unknown[] = [];
  if (depth > MAX_ATTRIBUTE_DEPTH) return null;
  read(bytes, budget, {
    1: (reader) => (value = reader.string()),
    2: (reader) => (value = reader.bool()),
    3: (reader) => (value = Number(reader.int64())),
    4: (reader) => (value = reader.double()),
    5: (reader) => {
      read(reader.bytes(), budget, { 1: (inner) => list.push(readValue(inner.bytes(), depth + 1, budget)) });
      value = list;
    },
    6: (reader) => (value = readAttributes(reader.bytes(), 1, depth + 1, budget)),
    7: (reader) => (value = Buffer.from(reader.bytes()).toString("base64")),
  });
  return value;
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

function micros(nanos: bigint | string | number): number | undefined {
  const value = Number(BigInt(nanos) / 1000n);
  return value > 0 ? value : undefined;
}

// ExportTraceServiceRequest in JSON (OTLP/HTTP: lowerCamelCase names, ids in hex, 64-bit numbers as strings).

/** The spans of a request. 400 when it is no such message; what is odd inside a span is left out. */
export function spansFromJson(body: unknown): OtlpSpan[] {
  if (!isObject(body) || !Array.isArray(body["resourceSpans"])) {
    throw new Problem(400, "The body is not an ExportTraceServiceRequest: expected an object with resourceSpans.");
  }
  return objects(body["resourceSpans"]).flatMap((group) => {
    const resource = isObject(group["resource"]) ? attributes(group["resource"]["attributes"]) : {};
    const scopes = objects(group["scopeSpans"] ?? group["instrumentationLibrarySpans"]);
    return scopes.flatMap((scope) => objects(scope["spans"]).map((span) => readJsonSpan(span, resource)));
  });
}

function readJsonSpan(span: Json, resource: Attributes): OtlpSpan {
  const status = isObject(span["status"]) ? span["status"] : {};
  const code = status["code"];
  return {
    traceId: id(span["traceId"]),
    spanId: id(span["spanId"]),
    parentSpanId: id(span["parentSpanId"]),
    name: readText(span["name"]),
    start: jsonMicros(span["startTimeUnixNano"]),
    end: jsonMicros(span["endTimeUnixNano"]),
    attributes: attributes(span["attributes"]),
    resource,
    events: objects(span["events"]).map(readJsonEvent),
    status: { code: code === "STATUS_CODE_ERROR" ? 2 : Number(code) || 0, message: readText(status["message"]) },
  };
}

function readJsonEvent(event: Json): OtlpEvent {
  return {
    name: readText(event["name"]),
    time: jsonMicros(event["timeUnixNano"]),
    attributes: attributes(event["attributes"]),
  };
}

function attributes(list: unknown, depth = 0): Attributes {
  return toAttributes(
    objects(list).map((entry) => [readText(entry["key"]), readJsonValue(entry["value"], depth)] as const),
  );
}

function readJsonValue(given: unknown, depth: number): unknown {
  if (!isObject(given) || depth > MAX_ATTRIBUTE_DEPTH) return null;
  if ("stringValue" in given) return given["stringValue"];
  if ("boolValue" in given) return given["boolValue"];
  if ("intValue" in given) return Number(given["intValue"]);
  if ("doubleValue" in given) return given["doubleValue"];
  if ("bytesValue" in given) return given["bytesValue"];
  const { arrayValue, kvlistValue } = given;
  if (isObject(arrayValue))
    return Array.isArray(arrayValue["values"])
      ? arrayValue["values"].map((item) => readJsonValue(item, depth + 1))
      : [];
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

function jsonMicros(nanos: unknown): number | undefined {
  if (typeof nanos !== "number" && !(typeof nanos === "string" && /^\d{1,20}$/.test(nanos))) return undefined;
  const value = typeof nanos === "string" ? Number(BigInt(nanos) / 1000n) : Math.floor(nanos / 1000);
  return value > 0 ? value : undefined;
}
