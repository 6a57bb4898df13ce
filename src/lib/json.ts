/** JSON: object checks, parsing, and the free-form objects and filters of requests. */
import { Problem } from "./problem.ts";
import * as v from "valibot";
import { maxBytes, METADATA_BYTES } from "./bytes.ts";

// Limits on the number of values in JSON. A value takes about 100 bytes in memory and two bytes in JSON (`1,`), so a limit of
// bytes alone does not bound what a body costs. Values are counted before the text is parsed.

/** The most values of one JSON text that is parsed as a whole: about 30 MB in memory. */
export const JSON_VALUES = 300_000;
/** The approximate memory of a parsed value, bytes. */
export const VALUE_BYTES = 100;

const [QUOTE, BACKSLASH, COMMA, OPEN_LIST, OPEN_OBJECT] = [0x22, 0x5c, 0x2c, 0x5b, 0x7b];

/** Counts the values of a JSON text in UTF-8, including nested values. Stops above `most`. */
export function countValues(json: Uint8Array, most: number): number {
  let count = 1;
  for (let at = 0; at < json.length && count <= most; at++) {
    const byte = json[at];
    if (byte === QUOTE) at = stringEnd(json, at) - 1;
    else if (byte === COMMA || byte === OPEN_LIST || byte === OPEN_OBJECT) count++;
  }
  return count;
}

/** @throws Problem 413 when the JSON text holds more than `most` values. */
export function refuseManyValues(json: Uint8Array, most = JSON_VALUES): void {
  if (countValues(json, most) > most) throw tooManyValues(most);
}

export function tooManyValues(most: number): Problem {
  return new Problem(413, `The request body holds more than ${most} values. Send less at a time.`);
}

/** The position after the string that begins at `start`, or the end of the text when the string does not end. */
export function stringEnd(json: Uint8Array, start: number): number {
  for (let from = start + 1; ;) {
    const quote = json.indexOf(QUOTE, from);
    if (quote === -1) return json.length + 1;
    let escapes = quote;
    while (json[escapes - 1] === BACKSLASH) escapes--;
    // A quote is escaped by an odd number of backslashes.
    if ((quote - escapes) % 2 === 0) return quote + 1;
    from = quote + 1;
  }
}

/** Whether a value of JSON is an object with members. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isExactNumber(value);
}

/** The value of a JSON text, or undefined when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** As `parseJson`, and undefined when the value nests deeper than `NESTING` levels: for a text within a checked body. */
export function parseBoundedJson(text: string): unknown {
  const value = parseJson(text);
  return nestsDeeper(value) ? undefined : value;
}

/**
 * The same text for the same value, however its members are ordered (RFC 8785): members in the order of their names' UTF-16 units,
 * no white space. JSON.stringify writes the rest as the RFC asks.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  members.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(",")}}`;
}

// Integers past 2^53, which a JavaScript number rounds.

/** A number whose digits are more than a JavaScript number holds. `JSON.stringify` writes it as it was. */
export interface ExactNumber {
  readonly rawJSON: string;
}

/** ECMAScript's JSON.parse source text access, which TypeScript does not describe yet. */
const exact = JSON as unknown as {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
  rawJSON(text: string): ExactNumber;
  isRawJSON(value: unknown): value is ExactNumber;
};

/** An integer that a parsed number may not hold exactly. */
const LONG_INTEGER = /\d{16}/;
export const hasLongInteger = (json: string): boolean => LONG_INTEGER.test(json);

/** The value of a JSON text, in which integers past 2^53 are `ExactNumber`s. @throws SyntaxError */
export function parseExact(text: string): unknown {
  if (!hasLongInteger(text)) return JSON.parse(text);
  return exact.parse(text, (_, value, { source }) =>
    typeof value === "number" && !Number.isSafeInteger(value) && source && /^-?\d+$/.test(source)
      ? exact.rawJSON(source)
      : value,
  );
}

/** As `parseExact`. Undefined when the text is not JSON. */
export function tryParseExact(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return undefined;
  }
}

export const isExactNumber = (value: unknown): value is ExactNumber => exact.isRawJSON(value);

/** The digits of an integer that JavaScript's numbers do not count exactly, as its JSON has them; undefined for any other value. */
export function longDigits(value: unknown): string | undefined {
  if (isExactNumber(value)) return value.rawJSON;
  if (typeof value !== "number" || Number.isSafeInteger(value)) return undefined;
  const text = JSON.stringify(value);
  return /^-?\d+$/.test(text) ? text : undefined;
}

/** Whether a value within plain objects and lists passes the test. */
function holds(value: unknown, test: (value: unknown) => boolean): boolean {
  if (Array.isArray(value)) return value.some((item) => holds(item, test));
  if (!isPlain(value)) return test(value);
  for (const name in value) if (holds(value[name], test)) return true;
  return false;
}

/** A copy of plain objects and lists, in which `change` replaces the other values. */
function mapValues(value: unknown, change: (value: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => mapValues(item, change));
  if (!isPlain(value)) return change(value);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, mapValues(member, change)]));
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || (prototype === null && !isExactNumber(value));
}

/** The value with JavaScript's numbers, which are all that a graph can compute with. */
export const toNumbers = <T>(value: T): T =>
  holds(value, isExactNumber)
    ? (mapValues(value, (one) => (isExactNumber(one) ? Number(one.rawJSON) : one)) as T)
    : value;

// JSON between isolates: a structured clone makes an `ExactNumber` an object, and keeps a bigint, which no JSON has.

/** A value to be cloned; the same value where it needs no change. */
export const toCloneable = (value: unknown): unknown =>
  holds(value, isExactNumber) ? mapValues(value, (one) => (isExactNumber(one) ? BigInt(one.rawJSON) : one)) : value;

/** The value that was cloned. */
export const fromCloneable = (value: unknown): unknown =>
  mapValues(value, (one) => (typeof one === "bigint" ? exact.rawJSON(String(one)) : one));

/**
 * The value of a request's JSON in UTF-8, or undefined when the bytes are none. With `isExact`, integers past 2^53 are `ExactNumber`s.
 * @throws Problem 413 when it holds more than `JSON_VALUES` values.
 */
export function decodeJson(bytes: Uint8Array, isExact = false): unknown {
  refuseManyValues(bytes);
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
    const value: unknown = JSON.parse(text);
    // Texts hold long digits, too: a second, slower parse is only for what a number has rounded.
    const isRounded = isExact && hasLongInteger(text) && holds(value, (one) => longDigits(one) !== undefined);
    return isRounded ? parseExact(text) : value;
  } catch {
    return undefined;
  }
}

/** An object whose members are the user's own. */
export const JsonObject = v.pipe(
  v.custom<Record<string, unknown>>(isObject, "expected a JSON object"),
  v.metadata({ type: "object" }),
);

/** The most values of a request's metadata, `config` or `context`, including nested values. They are copied and compared often. */
const MEMBERS = 10_000;

/** A `JsonObject` with a limit on its values: metadata, `config` and `context`. */
export const JsonMembers = v.pipe(
  JsonObject,
  v.check((members) => !holdsMore(members, MEMBERS), `must hold at most ${MEMBERS} values`),
);

function holdsMore(value: object, most: number): boolean {
  const waiting: unknown[] = [value];
  let count = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const members = typeof next === "object" && next !== null ? Object.values(next) : [];
    count += members.length;
    if (count > most) return true;
    waiting.push(...members);
  }
  return false;
}

/** SQLite reads JSON of up to 1,000 levels, and what is written must be read again. */
export const NESTING = 500;

/**
 * Whether objects and arrays nest deeper than `levels`. The check itself stops at `levels`, so that it accepts values
 * of any depth.
 */
export function nestsDeeper(value: unknown, levels = NESTING): boolean {
  if (levels < 0) return true;
  if (typeof value !== "object" || value === null || isExactNumber(value)) return false;
  return Object.values(value).some((member) => nestsDeeper(member, levels - 1));
}

/** D1 binds at most 100 parameters a statement, and a filter spends two a value. */
const FILTER_VALUES = 30;
/**
 * D1 takes expressions of depth 100. A level takes up to sixteen of it, and a user's own filter is added to the
 * caller's.
 */
const FILTER_DEPTH = 4;

/** A containment filter, small enough to become one SQL condition. */
export const JsonFilter = v.pipe(
  JsonObject,
  v.check((filter) => !nestsDeeper(filter, FILTER_DEPTH), `nests deeper than ${FILTER_DEPTH} levels`),
  v.check(
    (filter) => nestsDeeper(filter, FILTER_DEPTH) || countLeaves(filter) <= FILTER_VALUES,
    `holds more than ${FILTER_VALUES} values`,
  ),
  maxBytes(METADATA_BYTES),
);

function countLeaves(value: unknown): number {
  if (typeof value !== "object" || value === null || isExactNumber(value)) return 1;
  return Object.values(value).reduce<number>((sum, member) => sum + countLeaves(member), 1);
}

/** The texts of a JSON array; undefined when it is none. */
export function jsonList(text: string): string[] | undefined {
  const value = parseJson(text);
  return Array.isArray(value) && value.every((item) => typeof item === "string") ? value : undefined;
}

/** A parsed JSON object. */
export type Json = Record<string, unknown>;
