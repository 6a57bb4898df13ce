/**
 * Limits on the number of values in JSON. A value takes about 100 bytes in memory and two bytes in JSON (`1,`), so a limit of
 * bytes alone does not bound what a body costs. Values are counted before the text is parsed.
 */
import { Problem } from "../lib/problem.ts";

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
