/** One heavy field of a run, read as it comes: what is kept of it, and what filters, lists and totals need to know. */
import { isUtf8 } from "node:buffer";
import { isObject, NESTING, nestsDeeper } from "../../http/json.ts";
import { FIELD_BYTES, LARGE_BYTES } from "../limits.ts";
import type { LargeField } from "../rpc.ts";
import { timeOf } from "../time.ts";
import { metadataText, pairsText, previewText } from "./pairs.ts";
import { derivedUsage, statedUsage, type Usage } from "./usage.ts";

/** The value itself is not kept: an ingest body holds many, and a parsed value takes several times its text. */
export interface Field {
  /** JSON text, of `error` plain text: a string for the row, bytes with a preview for R2. */
  content: string | { bytes: Uint8Array; preview: string };
  /** Entries for filters, of `inputs` and `outputs`. */
  pairs?: string;
  /** Of `extra`: what filters look into. */
  metadata?: string;
  /** Of `events`: when the first token came. */
  firstToken?: number;
  /** Tokens as the SDKs state them, and as they follow from what a model's answer holds. */
  stated?: Usage;
  derived?: Usage;
}

/**
 * Reads a field whose JSON value is `value`. `sent` is its text as it came, if it came by itself; past `LARGE_BYTES` these
 * bytes are kept. A string says why the field cannot be taken; undefined: the field says nothing.
 */
export function readField(name: LargeField, value: unknown, sent?: Uint8Array): Field | string | undefined {
  if (value === undefined || value === null || isNoise(name, value)) return undefined;
  const fault = unfit(name, value);
  if (fault) return fault;
  const content = contentOf(name, value, sent);
  if (typeof content !== "string" && content.bytes.byteLength > FIELD_BYTES) return `larger than ${FIELD_BYTES} bytes`;
  return { content, ...knownOf(name, value) };
}

function unfit(name: LargeField, value: unknown): string | undefined {
  if (name === "events" && !Array.isArray(value)) return "expected a list";
  if (name === "extra" && !isObject(value)) return "expected an object";
  return nestsDeeper(value) ? `nested deeper than ${NESTING} levels` : undefined;
}

/** What the SDKs send without meaning anything by it. */
function isNoise(name: LargeField, value: unknown): boolean {
  if (name === "serialized") return isObject(value) && Object.keys(value).length === 0;
  return (name === "events" && Array.isArray(value) && value.length === 0) || (name === "error" && value === "");
}

function contentOf(name: LargeField, value: unknown, sent: Uint8Array | undefined): Field["content"] {
  if (sent && sent.byteLength > LARGE_BYTES && name !== "error" && isUtf8(sent)) {
    return { bytes: withoutMark(sent), preview: previewText(name, value) };
  }
  const text = textOf(name, value, sent);
  const bytes = text.length * 3 > LARGE_BYTES ? Buffer.from(text) : undefined;
  return bytes && bytes.byteLength > LARGE_BYTES ? { bytes, preview: previewText(name, value) } : text;
}

const decoder = new TextDecoder();

function textOf(name: LargeField, value: unknown, sent: Uint8Array | undefined): string {
  if (name === "error") return typeof value === "string" ? value : JSON.stringify(value);
  // Text that came by itself is kept as it is, unless it has escapes that would hide it from search.
  const text = sent && decoder.decode(sent);
  return text !== undefined && !text.includes("\\u") ? text : JSON.stringify(value);
}

/** Without a byte order mark, which is no part of the JSON. */
function withoutMark(bytes: Uint8Array): Uint8Array {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

function knownOf(name: LargeField, value: unknown): Omit<Field, "content"> {
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
  return isObject(event) ? timeOf(event["time"]) : undefined;
}
