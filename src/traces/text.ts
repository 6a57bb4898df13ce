/** The entries of inputs and outputs that filters search, and previews of payloads in R2. */
import { byteLength, cutBytes } from "../lib/bytes.ts";
import { isExactNumber } from "../lib/json.ts";
import { ERROR_PREVIEW_BYTES, FILTERED_METADATA_BYTES, PAIRS_BYTES } from "./limits.ts";

// The first characters of texts. Characters are code points, as SQLite counts them.

/** The first characters of a text. */
export function clip(text: string, most: number): string {
  if (text.length <= most) return text;
  return Array.from(text.slice(0, 2 * most))
    .slice(0, most)
    .join("");
}

/** The same of an SQL expression. SQLite's substr ends at U+0000, so a text that has one is left as it is. */
export function clipSql(text: string, most: number): string {
  return `CASE WHEN octet_length(${text}) <= ${most} OR instr(${text}, char(0)) > 0 THEN ${text} ELSE substr(${text}, 1, ${most}) END`;
}

/** The index limits of LangSmith: 100 entries of 250 characters a run and field. */
const MAX_PAIRS = 100;
export const MAX_VALUE = 250;
export const MAX_PATH = 500;
const MAX_NODES = 2_000;

/** Characters of a preview. A character of JSON has up to six bytes. */
const PREVIEW_ROOM = 20_000;
const METADATA_ROOM = 10_000;

/**
 * Every scalar of a JSON value with its dotted path; arrays add nothing to the path (`messages.content`).
 * Breadth is bounded, so that a huge payload costs no more than a large one.
 */
export function flattenPairs(value: unknown): [path: string, text: string][] {
  const pairs: [string, string][] = [];
  let nodes = 0;
  const visit = (node: unknown, path: string): void => {
    if (pairs.length >= MAX_PAIRS || nodes++ > MAX_NODES || node === undefined) return;
    if (typeof node !== "object" || node === null || isExactNumber(node)) {
      if (path !== "") pairs.push([path, clip(typeof node === "string" ? node : JSON.stringify(node), MAX_VALUE)]);
      return;
    }
    if (path.length >= MAX_PATH) return;
    if (Array.isArray(node)) for (const item of node) visit(item, path);
    else
      for (const [key, item] of Object.entries(node)) {
        visit(item, clip(path === "" ? key : `${path}.${key}`, MAX_PATH));
      }
  };
  visit(value, "");
  return pairs;
}

/** The entries of a payload as JSON. Entries that do not fit in the column are left out. */
export function pairsText(value: unknown): string {
  const pairs = flattenPairs(value);
  let text = JSON.stringify(pairs);
  while (byteLength(text) > PAIRS_BYTES) {
    pairs.length >>= 1;
    text = JSON.stringify(pairs);
  }
  return text;
}

/** A copy of a JSON value that is small enough to store beside a payload in R2, for search and lists. */
export function previewValue(value: unknown, room = PREVIEW_ROOM): unknown {
  let nodes = 400;
  const cut = (text: string): string => {
    const kept = clip(text, Math.min(MAX_VALUE, Math.max(0, room)));
    room -= kept.length;
    return kept;
  };
  const shorten = (node: unknown, depth: number): unknown => {
    if (nodes-- <= 0 || depth > 8) return null;
    if (typeof node === "string") return cut(node);
    if (Array.isArray(node)) return node.slice(0, 50).map((item) => shorten(item, depth + 1));
    if (typeof node !== "object" || node === null || isExactNumber(node)) return node;
    const members = Object.entries(node).slice(0, 50);
    return Object.fromEntries(members.map(([key, item]) => [cut(key), shorten(item, depth + 1)]));
  };
  return shorten(value, 0);
}

/** The preview of a payload in R2, which the row holds. `value` is the payload. */
export function previewText(field: string, value: unknown): string {
  if (field === "error")
    return cutBytes(typeof value === "string" ? value : JSON.stringify(value), ERROR_PREVIEW_BYTES);
  return JSON.stringify(previewValue(value));
}

/** The metadata that filters search: the whole, or a preview of it when it is too large. */
export function metadataText(metadata: Record<string, unknown>): string {
  const whole = JSON.stringify(metadata);
  return byteLength(whole) <= FILTERED_METADATA_BYTES ? whole : JSON.stringify(previewValue(metadata, METADATA_ROOM));
}

// Previews of payloads in lists.

export const PREVIEW = 300;

/** The content of a single string or message, else the JSON. It is cut to `PREVIEW` characters. */
export function previewText_(text: string | null): string | null {
  if (text === null) return null;
  const value: unknown = JSON.parse(text);
  return (findSole(value) ?? text).slice(0, PREVIEW);
}

function findSole(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return undefined;
  const items: unknown[] = Array.isArray(value) ? value.slice(-1) : Object.values(value);
  const content = (value as { content?: unknown }).content;
  if (typeof content === "string") return content;
  return items.length === 1 ? findSole(items[0]) : undefined;
}
