/**
 * Sizes as SQLite counts them: bytes of UTF-8. A row of D1 or of a Durable Object holds at most 2,000,000 bytes, so every
 * text that becomes part of a row has a limit below that. `length` counts UTF-16 units, of which one can be three bytes.
 */
import * as v from "valibot";
import { Problem } from "./problem.ts";

/** Metadata of a project, dataset, assistant or cron as JSON, bytes. */
export const METADATA_BYTES = 256 * 1024;
/** The configuration of an assistant, the payload of a cron or the value of a Store item as JSON, bytes. */
export const PAYLOAD_BYTES = 1024 * 1024;

/** The size of a text, or of any other value as JSON, in bytes of UTF-8. */
export function byteLength(value: unknown): number {
  return Buffer.byteLength(typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
}

const rule = (limit: number) => `must be at most ${limit} bytes`;

/** A valibot action: the text, or the value as JSON, has at most `limit` bytes. */
export const maxBytes = <T>(limit: number) => v.check<T, string>((value) => byteLength(value) <= limit, rule(limit));

/**
 * The value, when it has at most `limit` bytes as JSON: for what is joined from a request and a stored row.
 * @throws Problem 422 that names `what`.
 */
export function withinBytes<T>(value: T, limit: number, what: string): T {
  if (byteLength(value) > limit) throw new Problem(422, `Invalid body: ${what} ${rule(limit)} as JSON.`);
  return value;
}

/** The beginning of a text, at most `limit` bytes, cut between characters. */
export function cutBytes(text: string, limit: number): string {
  if (text.length * 3 <= limit || Buffer.byteLength(text) <= limit) return text;
  // A decoder in streaming mode holds back the bytes of a character that was cut.
  return new TextDecoder().decode(Buffer.from(text).subarray(0, limit), { stream: true });
}

/** Rows of an answer, bytes: as values and as JSON they take several times as much of an isolate's 128 MB. */
const ANSWER_BYTES = 16 * 1024 * 1024;
/** So few rows, the default of a list and one more, are never measured: none of them holds 2 MB. */
const FEW = 11;

/**
 * Refuses a list whose rows together are too large. `measure` is asked only when there may be more than a few rows.
 * @throws Problem 413
 */
export async function boundAnswer(limit: number, measure: () => Promise<number>): Promise<void> {
  if (limit <= FEW || (await measure()) <= ANSWER_BYTES) return;
  throw new Problem(413, `The answer would be larger than ${ANSWER_BYTES} bytes. Ask for fewer at a time with limit.`);
}
