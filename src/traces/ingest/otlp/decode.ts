/**
 * ExportTraceServiceRequest in protobuf (opentelemetry-proto, trace/v1). Read field by field: workerd forbids the code that
 * general decoders generate, and only these fields are of use here.
 */
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { tooManyValues } from "../../../lib/json.ts";
import { Problem } from "../../../lib/problem.ts";
import {
  type Attributes,
  toAttributes,
  MAX_ATTRIBUTE_DEPTH,
  MAX_SPANS,
  type OtlpEvent,
  type OtlpSpan,
  tooManySpans,
} from "../../otlp/span.ts";

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
