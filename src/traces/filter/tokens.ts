/** Tokens of the filter language, with their positions (0-based, in characters of the text). */
import { Problem } from "../../lib/problem.ts";

export type Token =
  | { kind: "name" | "string"; value: string; at: number }
  | { kind: "number"; value: number; at: number }
  | { kind: "(" | ")" | "[" | "]" | ","; at: number }
  | { kind: "end"; at: number };

/** A filter that cannot be understood: says what was expected and where. */
export class FilterProblem extends Problem {
  constructor(
    message: string,
    /** 0-based position in the filter's text. */
    readonly position: number,
  ) {
    super(400, `Invalid filter: ${message} at position ${position}.`, { errors: [{ path: "filter", message }] });
  }
}

const SPACE = /\s+/y;
const NAME = /[A-Za-z_][\w.]*/y;
const NUMBER = /[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const PUNCTUATION = new Set(["(", ")", "[", "]", ","]);
const ESCAPES: Record<string, string> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f" };

/** The longest filter taken, characters. */
const MAX_LENGTH = 20_000;

/** Cuts a filter into tokens, the last one of kind "end". */
export function tokenize(text: string): Token[] {
  if (text.length > MAX_LENGTH) throw new FilterProblem(`longer than ${MAX_LENGTH} characters`, MAX_LENGTH);
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const space = match(SPACE, text, at);
    if (space) {
      at += space.length;
      continue;
    }
    const token = nextToken(text, at);
    tokens.push(token.token);
    at = token.end;
  }
  tokens.push({ kind: "end", at: text.length });
  return tokens;
}

function nextToken(text: string, at: number): { token: Token; end: number } {
  const char = text.charAt(at);
  if (PUNCTUATION.has(char)) return { token: { kind: char as "(", at }, end: at + 1 };
  if (char === '"' || char === "'") return stringToken(text, at);
  const name = match(NAME, text, at);
  if (name) return { token: { kind: "name", value: name, at }, end: at + name.length };
  const number = match(NUMBER, text, at);
  if (number) return numberToken(text, number, at);
  throw new FilterProblem(`unexpected character ${JSON.stringify(char)}`, at);
}

function numberToken(text: string, digits: string, at: number): { token: Token; end: number } {
  const end = at + digits.length;
  if (match(NAME, text, end)) throw new FilterProblem("a number is followed by letters; quote it as a string", at);
  const value = Number(digits);
  if (!Number.isFinite(value)) throw new FilterProblem("the number is too large", at);
  return { token: { kind: "number", value, at }, end };
}

function stringToken(text: string, at: number): { token: Token; end: number } {
  const quote = text.charAt(at);
  let value = "";
  for (let i = at + 1; i < text.length; i++) {
    const char = text.charAt(i);
    if (char === quote) return { token: { kind: "string", value, at }, end: i + 1 };
    if (char !== "\\") {
      value += char;
      continue;
    }
    const escaped = escapeAt(text, i);
    value += escaped.value;
    i = escaped.end - 1;
  }
  throw new FilterProblem("the string is not closed", at);
}

/** An escape starting at the backslash. Unknown ones give the character itself, so that `\%` of a pattern survives. */
function escapeAt(text: string, at: number): { value: string; end: number } {
  const char = text.charAt(at + 1);
  if (char === "u") {
    const hex = /^[0-9a-fA-F]{4}/.exec(text.slice(at + 2, at + 6));
    if (!hex) throw new FilterProblem("\\u needs four hexadecimal digits", at);
    return { value: String.fromCharCode(Number.parseInt(hex[0], 16)), end: at + 6 };
  }
  if (char in ESCAPES) return { value: ESCAPES[char] ?? "", end: at + 2 };
  const literal = char === "%" || char === "_" ? `\\${char}` : char;
  return { value: literal, end: at + 2 };
}

function match(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}
