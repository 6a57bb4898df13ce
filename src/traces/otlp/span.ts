/** A span as both encodings of OTLP give it. */
import { Problem } from "../../lib/problem.ts";

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
