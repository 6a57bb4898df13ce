/**
 * Splits a JSON text into its members or elements without parsing them. A batch is read run by run and field by field,
 * because a parsed value takes several times the memory of its text. A piece is validated when it is parsed.
 */
import { stringEnd as afterString } from "../../lib/json.ts";
import { Problem } from "../../lib/problem.ts";

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
