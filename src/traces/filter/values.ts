/** Literals of a filter as values of a field's type. */
import { microsFromIso } from "../time.ts";
import type { FieldType, Operator } from "../fields.ts";
import { type FilterLiteral, FilterProblem } from "./syntax.ts";

const UNITS: Record<string, number> = { us: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600, d: 86_400 };

/**
 * SQLite in a Durable Object refuses LIKE and GLOB patterns past 50 bytes. A longer one is taken when its wildcards
 * stand at its ends only, for then it is a plain comparison of strings.
 */
export const MAX_PATTERN_BYTES = 50;

/** What a field of each type is compared with. */
const TAKES: Record<FieldType, string> = {
  id: "an id in quotes",
  text: "a text in quotes",
  error: "a text in quotes, true, false or null",
  value: "a text in quotes, a number, true, false or null",
  boolean: "true or false",
  number: "a number",
  duration: 'seconds, or a duration such as "5s", "200ms" or "2m"',
  time: 'a time such as "2026-11-20T15:49:54Z"',
};

interface Placed {
  value: FilterLiteral;
  at: number;
}

interface Typed {
  name: string;
  type: FieldType;
}

/** The literal in the units of the stored field: microseconds for times, seconds for durations. */
export function toLiteral({ name, type }: Typed, { value, at }: Placed, operator: Operator): FilterLiteral {
  const isEqual = operator === "eq" || operator === "neq";
  if (value === null) {
    if (isEqual) return null;
    throw new FilterProblem(`null goes with eq and neq only`, at);
  }
  if (type === "error" && typeof value === "boolean" && !isEqual)
    throw new FilterProblem(`${name} goes with true and false in eq and neq only`, at);
  const literal = convert(type, value);
  if (literal === undefined) throw new FilterProblem(`${name} takes ${TAKES[type]}`, at);
  return literal;
}

function convert(type: FieldType, value: NonNullable<FilterLiteral>): FilterLiteral | undefined {
  switch (type) {
    case "id":
      return typeof value === "string" ? value.toLowerCase() : undefined;
    case "text":
      return typeof value === "string" ? value : undefined;
    case "error":
      return typeof value === "number" ? undefined : value;
    case "value":
      return String(value);
    case "boolean":
      return typeof value === "boolean" ? value : undefined;
    case "number":
      return toNumber(value);
    case "duration":
      return typeof value === "string" ? toDuration(value) : toNumber(value);
    case "time":
      return typeof value === "string" ? microsFromIso(value) : undefined;
  }
}

function toNumber(value: FilterLiteral): number | undefined {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

function toDuration(text: string): number | undefined {
  const match = /^\s*(\d+(?:\.\d+)?)\s*(us|ms|s|m|h|d)?\s*$/.exec(text);
  return match ? Number(match[1]) * (UNITS[match[2] ?? "s"] ?? 1) : undefined;
}

/** A pattern's pieces: literal text and wildcards (`%` any text, `_` any character; a backslash makes them literal). */
export type PatternPiece = "%" | "_" | { text: string };

/** A `like` pattern in pieces: `%` and `_` with a backslash are text. */
export function patternPieces(pattern: string): PatternPiece[] {
  const pieces: PatternPiece[] = [];
  for (const [part] of pattern.matchAll(/\\[%_]|[\s\S]/gu)) {
    const last = pieces.at(-1);
    if (part === "%" && last === "%") continue;
    if (part === "%" || part === "_") pieces.push(part);
    else if (typeof last === "object") last.text += part.length === 2 && part.startsWith("\\") ? part.slice(1) : part;
    else pieces.push({ text: part.length === 2 && part.startsWith("\\") ? part.slice(1) : part });
  }
  return pieces;
}

/** Whether the pattern is literal text with `%` at its ends at most. */
export function isPlainPattern(pieces: PatternPiece[]): boolean {
  return !pieces.some((piece, i) => piece === "_" || (piece === "%" && i > 0 && i < pieces.length - 1));
}

/** The pattern for SQLite's GLOB, which is case-sensitive. */
export function toGlob(pieces: PatternPiece[]): string {
  return pieces
    .map((piece) => (piece === "%" ? "*" : piece === "_" ? "?" : piece.text.replaceAll(/[*?[]/g, "[$&]")))
    .join("");
}

/** Throws when SQLite would not take the pattern. */
export function checkPattern({ value, at }: Placed): void {
  if (typeof value !== "string") throw new FilterProblem("like takes a pattern in quotes", at);
  const pieces = patternPieces(value);
  if (isPlainPattern(pieces) || new TextEncoder().encode(toGlob(pieces)).byteLength <= MAX_PATTERN_BYTES) return;
  throw new FilterProblem(`a pattern past ${MAX_PATTERN_BYTES} bytes can have % at its ends only`, at);
}
