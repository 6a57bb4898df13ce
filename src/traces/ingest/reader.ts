/**
 * Splits a JSON text into its members or elements without parsing them. A batch is read run by run and field by field,
 * because a parsed value takes several times the memory of its text. A piece is validated when it is parsed.
 */
import { stringEnd as afterString, isObject, NESTING, nestsDeeper } from "../../lib/json.ts";
import { Problem } from "../../lib/problem.ts";
import { isUtf8 } from "node:buffer";
import { FIELD_BYTES, LARGE_BYTES } from "../limits.ts";
import type { LargeField } from "../types.ts";
import { parseTime } from "../time.ts";
import type { Masker } from "../masking/masker.ts";
import { metadataText, pairsText, previewText } from "../text.ts";
import { derivedUsage, statedUsage, type Usage } from "../../limits/prices/usage.ts";

const [QUOTE, COMMA, COLON] = [0x22, 0x2c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

const malformedJson = () => new Problem(400, "Malformed JSON in request body.");
const decoder = new TextDecoder();

/** Parses a JSON text. @throws Problem 400 */
export function parsePiece(json: Uint8Array, parse: (text: string) => unknown = JSON.parse): unknown {
  try {
    return parse(decoder.decode(json));
  } catch {
    throw malformedJson();
  }
}

/** The members of an object in their order, each value as its bytes. @throws Problem 400 when it is no object. */
export function* readMembers(json: Uint8Array): Generator<[name: string, value: Uint8Array]> {
  const end = findClosing(json, OPEN_OBJECT, CLOSE_OBJECT);
  let at = skipSpace(json, begin(json) + 1);
  while (at < end) {
    const nameEnd = valueEnd(json, at);
    const name = parsePiece(json.subarray(at, nameEnd));
    const colon = skipSpace(json, nameEnd);
    if (typeof name !== "string" || json[colon] !== COLON) throw malformedJson();
    const start = skipSpace(json, colon + 1);
    const stop = valueEnd(json, start);
    yield [name, json.subarray(start, stop)];
    at = skipComma(json, stop, end);
  }
}

/** The elements of a list, each as its bytes. @throws Problem 400 when it is no list. */
export function* readElements(json: Uint8Array): Generator<Uint8Array> {
  const end = findClosing(json, OPEN_LIST, CLOSE_LIST);
  let at = skipSpace(json, begin(json) + 1);
  while (at < end) {
    const stop = valueEnd(json, at);
    yield json.subarray(at, stop);
    at = skipComma(json, stop, end);
  }
}

/** True when the text begins like an object. */
export function isObjectText(json: Uint8Array): boolean {
  return json[begin(json)] === OPEN_OBJECT;
}

/** The first position after a byte order mark and white space. */
function begin(json: Uint8Array): number {
  return skipSpace(json, json[0] === 0xef && json[1] === 0xbb && json[2] === 0xbf ? 3 : 0);
}

/** The position of the last bracket. */
function findClosing(json: Uint8Array, open: number, close: number): number {
  let end = json.length - 1;
  while (end > 0 && isSpace(json[end])) end--;
  if (json[begin(json)] !== open || json[end] !== close || end === begin(json)) throw malformedJson();
  return end;
}

function skipComma(json: Uint8Array, at: number, end: number): number {
  const next = skipSpace(json, at);
  if (next === end) return end;
  if (json[next] !== COMMA) throw malformedJson();
  const value = skipSpace(json, next + 1);
  if (value >= end) throw malformedJson();
  return value;
}

/** The end of the value that begins at `at`. */
function valueEnd(json: Uint8Array, at: number): number {
  const first = json[at];
  if (first === QUOTE) return stringEnd(json, at);
  if (first === OPEN_OBJECT || first === OPEN_LIST) return nestedEnd(json, at);
  let end = at;
  while (end < json.length && !isSpace(json[end]) && !isDelimiter(json[end])) end++;
  if (end === at) throw malformedJson();
  return end;
}

function nestedEnd(json: Uint8Array, start: number): number {
  let depth = 0;
  for (let at = start; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) at = stringEnd(json, at) - 1;
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth++;
    else if ((byte === CLOSE_OBJECT || byte === CLOSE_LIST) && --depth === 0) return at + 1;
  }
  throw malformedJson();
}

function stringEnd(json: Uint8Array, start: number): number {
  const end = afterString(json, start);
  if (end > json.length) throw malformedJson();
  return end;
}

function skipSpace(json: Uint8Array, at: number): number {
  while (isSpace(json[at])) at++;
  return at;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isDelimiter(byte: number | undefined): boolean {
  return byte === COMMA || byte === CLOSE_LIST || byte === CLOSE_OBJECT || byte === COLON;
}

// Reads one heavy field of a run and extracts what filters, lists and totals need.

/** A heavy field. The parsed value is not kept, because it takes several times the memory of its text. */
export interface Field {
  /**
   * The JSON text (plain text for `error`). A string is stored in the row; bytes are stored in R2, with a preview in
   * the row.
   */
  content: string | { bytes: Uint8Array; preview: string };
  /** The entries that filters search, of `inputs` and `outputs`. */
  pairs?: string;
  /** The metadata that filters search, of `extra`. */
  metadata?: string;
  /** The time of the first token, of `events`. */
  firstToken?: number;
  /** The usage that the SDK states, and the usage derived from a model's answer. */
  stated?: Usage;
  derived?: Usage;
}

/**
 * Reads a field. `value` is its JSON value. `sent` is its JSON text, if the field came as a part of its own; text larger than
 * `LARGE_BYTES` is kept by reference. `masker` masks the value first. Returns a string with the reason when the
 * field is not valid, and undefined when it is empty.
 */
export function readField(
  name: LargeField,
  given: unknown,
  text?: Uint8Array,
  masker?: Masker,
): Field | string | undefined {
  if (given === undefined || given === null || isNoise(name, given)) return undefined;
  const fault = findUnfit(name, given);
  if (fault) return fault;
  const value = masker ? masker.field(name, given) : given;
  // The sent text may have what the value has not, such as the first of two members of one name.
  const sent = masker ? undefined : text;
  const content = fieldContent(name, value, sent);
  if (typeof content !== "string" && content.bytes.byteLength > FIELD_BYTES) return `larger than ${FIELD_BYTES} bytes`;
  return { content, ...readKnown(name, value) };
}

function findUnfit(name: LargeField, value: unknown): string | undefined {
  if (name === "events" && !Array.isArray(value)) return "expected a list";
  if (name === "extra" && !isObject(value)) return "expected an object";
  return nestsDeeper(value) ? `nested deeper than ${NESTING} levels` : undefined;
}

/** Values that the SDKs send for an absent field. */
function isNoise(name: LargeField, value: unknown): boolean {
  if (name === "serialized") return isObject(value) && Object.keys(value).length === 0;
  return (name === "events" && Array.isArray(value) && value.length === 0) || (name === "error" && value === "");
}

function fieldContent(name: LargeField, value: unknown, sent: Uint8Array | undefined): Field["content"] {
  if (sent && sent.byteLength > LARGE_BYTES && name !== "error" && isUtf8(sent)) {
    return { bytes: withoutMark(sent), preview: previewText(name, value) };
  }
  const text = fieldText(name, value, sent);
  const bytes = text.length * 3 > LARGE_BYTES ? Buffer.from(text) : undefined;
  return bytes && bytes.byteLength > LARGE_BYTES ? { bytes, preview: previewText(name, value) } : text;
}

function fieldText(name: LargeField, value: unknown, sent: Uint8Array | undefined): string {
  if (name === "error") return typeof value === "string" ? value.toWellFormed() : JSON.stringify(value);
  // The sent text is kept: a parsed number has lost the digits past 2^53. Search compares characters as `JSON.stringify` writes them.
  return sent ? unescapeText(decoder.decode(sent)) : JSON.stringify(value);
}

/** A surrogate pair, another code unit, or any other escape. */
const ESCAPE = /\\u(d[89ab]\w\w)\\u(d[c-f]\w\w)|\\u\w{4}|\\./gi;
/** What JSON may escape in more than one way. */
const OPTIONAL = /\\[u/]/;

/** The same JSON with each character as `JSON.stringify` writes it. */
function unescapeText(json: string): string {
  if (!OPTIONAL.test(json)) return json;
  return json.replaceAll(ESCAPE, (escape: string) =>
    OPTIONAL.test(escape) ? JSON.stringify(JSON.parse(`"${escape}"`)).slice(1, -1) : escape,
  );
}

function withoutMark(bytes: Uint8Array): Uint8Array {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

function readKnown(name: LargeField, value: unknown): Omit<Field, "content"> {
  switch (name) {
    case "inputs":
      return { pairs: pairsText(value) };
    case "outputs":
      return { pairs: pairsText(value), stated: statedUsage(value), derived: derivedUsage(value) };
    case "extra": {
      const metadata = isObject(value) ? value["metadata"] : undefined;
      return isObject(metadata) ? { metadata: metadataText(metadata), stated: statedUsage(metadata) } : {};
    }
    case "events":
      return { firstToken: firstToken(value) };
    case "error":
    case "serialized":
      return {};
  }
}

/** The first `new_token` event of a streamed model call. */
function firstToken(events: unknown): number | undefined {
  if (!Array.isArray(events)) return undefined;
  const event: unknown = events.find((item) => isObject(item) && item["name"] === "new_token");
  return isObject(event) ? parseTime(event["time"]) : undefined;
}
