/** Literals of a filter as values of a field's type. */
import { microsFromIso } from "../time.ts";
import type { FieldType, Operator } from "./fields.ts";
import type { Literal } from "./syntax.ts";
import { FilterProblem } from "./tokens.ts";

const UNITS: Record<string, number> = { us: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600, d: 86_400 };

/**
 * SQLite in a Durable Object refuses LIKE and GLOB patterns past 50 bytes. A longer one is taken when its wildcards
 * stand at its ends only, for then it is a plain comparison of strings.
 */
export const MAX_PATTERN_BYTES = 50;

interface Placed {
  value: Literal;
  at: number;
}

/** The literal in the units of the stored field: microseconds for times, seconds for durations. */
export function toLiteral(type: FieldType, { value, at }: Placed, operator: Operator): Literal {
  if (value === null) {
    if (operator === "eq" || operator === "neq") return null;
    throw new FilterProblem(`null goes with eq and neq only`, at);
  }
  switch (type) {
    case "id":
      if (typeof value === "string") return value.toLowerCase();
      throw new FilterProblem("expected an id in quotes", at);
    case "text":
      return String(value);
    case "boolean":
      if (typeof value === "boolean") return value;
      throw new FilterProblem("expected true or false", at);
    case "number":
      return toNumber(value, at);
    case "duration":
      return typeof value === "string" ? toDuration(value, at) : toNumber(value, at);
    case "time":
      return toTime(value, at);
  }
}

function toNumber(value: Literal, at: number): number {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof number === "number" && Number.isFinite(number)) return number;
  throw new FilterProblem("expected a number", at);
}

function toDuration(text: string, at: number): number {
  const match = /^\s*(\d+(?:\.\d+)?)\s*(us|ms|s|m|h|d)?\s*$/.exec(text);
  if (!match) throw new FilterProblem('expected seconds, or a duration such as "5s", "200ms" or "2m"', at);
  return Number(match[1]) * (UNITS[match[2] ?? "s"] ?? 1);
}

function toTime(value: Literal, at: number): number {
  const micros = typeof value === "string" ? microsFromIso(value) : undefined;
  if (micros === undefined) throw new FilterProblem('expected a time such as "2026-11-20T15:49:54Z"', at);
  return micros;
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
  const pieces = patternPieces(String(value));
  if (isPlainPattern(pieces) || new TextEncoder().encode(toGlob(pieces)).byteLength <= MAX_PATTERN_BYTES) return;
  throw new FilterProblem(`a pattern past ${MAX_PATTERN_BYTES} bytes can have % at its ends only`, at);
}
