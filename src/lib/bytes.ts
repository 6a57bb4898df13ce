/**
 * Size limits in bytes of UTF-8, as SQLite counts them. A row of D1 or of a Durable Object holds at most 2,000,000 bytes.
 * `String.length` counts UTF-16 units, and one unit can be three bytes.
 */
import * as v from "valibot";
import { Problem } from "./problem.ts";

/** The limit of the metadata of a project, dataset, assistant or cron, as JSON. */
export const METADATA_BYTES = 256 * 1024;
/** The limit of an assistant's configuration, a cron's payload or a Store item's value, as JSON. */
export const PAYLOAD_BYTES = 1024 * 1024;

/** The size of a string, or of any other value as JSON. */
export function byteLength(value: unknown): number {
  return Buffer.byteLength(typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
}

const rule = (limit: number) => `must be at most ${limit} bytes`;

/** A valibot action that limits a string, or any other value as JSON, to `limit` bytes. */
export const maxBytes = <T>(limit: number) => v.check<T, string>((value) => byteLength(value) <= limit, rule(limit));

/**
 * Returns the value if it has at most `limit` bytes as JSON. Use it for values that join a request with a stored row.
 * @throws Problem 422 that names `what`.
 */
export function withinBytes<T>(value: T, limit: number, what: string): T {
  if (byteLength(value) > limit) throw new Problem(422, `Invalid body: ${what} ${rule(limit)} as JSON.`);
  return value;
}

/** Cuts a string to at most `limit` bytes, between two characters. */
export function cutBytes(text: string, limit: number): string {
  if (text.length * 3 <= limit || Buffer.byteLength(text) <= limit) return text;
  // In streaming mode the decoder drops the incomplete character at the end.
  return new TextDecoder().decode(Buffer.from(text).subarray(0, limit), { stream: true });
}

/** The most bytes of the rows of a list. As values and as JSON they take several times as much memory. */
const ANSWER_BYTES = 16 * 1024 * 1024;
/** Lists of at most this many rows are not measured, because a row is below 2 MB. It covers the default limit of 10. */
const FEW = 11;

/**
 * Refuses a list whose rows are too large. `measure` returns their bytes. It is called only for more than a few rows.
 * @throws Problem 413
 */
export async function boundAnswer(limit: number, measure: () => Promise<number>): Promise<void> {
  if (limit <= FEW || (await measure()) <= ANSWER_BYTES) return;
  throw new Problem(413, `The answer would be larger than ${ANSWER_BYTES} bytes. Request fewer at a time with limit.`);
}
