/** The filter language's grammar: calls, names, literals and lists. What they mean is in filter.ts. */
import { Problem } from "../../lib/problem.ts";

// Tokens of the filter language, with their positions (0-based, in characters of the text).

export type FilterToken =
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
export function tokenize(text: string): FilterToken[] {
  if (text.length > MAX_LENGTH) throw new FilterProblem(`longer than ${MAX_LENGTH} characters`, MAX_LENGTH);
  const tokens: FilterToken[] = [];
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

function nextToken(text: string, at: number): { token: FilterToken; end: number } {
  const char = text.charAt(at);
  if (PUNCTUATION.has(char)) return { token: { kind: char as "(", at }, end: at + 1 };
  if (char === '"' || char === "'") return stringToken(text, at);
  const name = match(NAME, text, at);
  if (name) return { token: { kind: "name", value: name, at }, end: at + name.length };
  const number = match(NUMBER, text, at);
  if (number) return numberToken(text, number, at);
  throw new FilterProblem(`unexpected character ${JSON.stringify(char)}`, at);
}

function numberToken(text: string, digits: string, at: number): { token: FilterToken; end: number } {
  const end = at + digits.length;
  if (match(NAME, text, end)) throw new FilterProblem("a number is followed by letters; quote it as a string", at);
  const value = Number(digits);
  if (!Number.isFinite(value)) throw new FilterProblem("the number is too large", at);
  return { token: { kind: "number", value, at }, end };
}

function stringToken(text: string, at: number): { token: FilterToken; end: number } {
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

export type FilterLiteral = string | number | boolean | null;

export type FilterNode =
  | { kind: "call"; name: string; args: FilterNode[]; at: number }
  | { kind: "name"; value: string; at: number }
  | { kind: "literal"; value: FilterLiteral; at: number }
  | { kind: "list"; items: { value: FilterLiteral; at: number }[]; at: number };

export type FilterCall = Extract<FilterNode, { kind: "call" }>;

const WORDS = new Map<string, FilterLiteral>([
  ["true", true],
  ["false", false],
  ["null", null],
]);

/** How deep calls may be nested: more would be a mistake, and SQLite bounds the depth of an expression. */
const MAX_DEPTH = 20;

/** The tree of one filter: a single call. */
export function readSyntax(text: string): FilterCall {
  const reader = new Reader(tokenize(text));
  const node = reader.argument(0);
  if (node.kind !== "call") throw new FilterProblem('a filter is a call such as eq(name, "x")', node.at);
  reader.finish();
  return node;
}

class Reader {
  private index = 0;

  constructor(private readonly tokens: FilterToken[]) {}

  private get token(): FilterToken {
    return this.tokens[Math.min(this.index, this.tokens.length - 1)] as FilterToken;
  }

  finish(): void {
    if (this.token.kind !== "end") throw new FilterProblem("expected the end of the filter", this.token.at);
  }

  argument(depth: number): FilterNode {
    const token = this.token;
    if (depth > MAX_DEPTH) throw new FilterProblem(`nested deeper than ${MAX_DEPTH} calls`, token.at);
    if (token.kind === "string" || token.kind === "number") {
      this.index++;
      return { kind: "literal", value: token.value, at: token.at };
    }
    if (token.kind === "[") return this.list();
    if (token.kind !== "name") throw new FilterProblem("expected a function, a field or a value", token.at);
    this.index++;
    if (this.token.kind === "(") return { kind: "call", name: token.value, args: this.arguments(depth), at: token.at };
    const word = WORDS.get(token.value.toLowerCase());
    if (word !== undefined) return { kind: "literal", value: word, at: token.at };
    return { kind: "name", value: token.value, at: token.at };
  }

  private arguments(depth: number): FilterNode[] {
    return this.sequence(")", () => this.argument(depth + 1));
  }

  private list(): FilterNode {
    const at = this.token.at;
    return { kind: "list", items: this.sequence("]", () => this.literal()), at };
  }

  private literal(): { value: FilterLiteral; at: number } {
    const token = this.token;
    const word = token.kind === "name" ? WORDS.get(token.value.toLowerCase()) : undefined;
    if (token.kind !== "string" && token.kind !== "number" && word === undefined) {
      throw new FilterProblem("a list holds strings and numbers only", token.at);
    }
    this.index++;
    return { value: word === undefined ? (token as { value: FilterLiteral }).value : word, at: token.at };
  }

  /** From the opening bracket (the current token) past the closing one. */
  private sequence<T>(close: ")" | "]", item: () => T): T[] {
    const items: T[] = [];
    this.index++;
    if (this.token.kind === close) {
      this.index++;
      return items;
    }
    for (;;) {
      items.push(item());
      const token = this.token;
      if (token.kind !== "," && token.kind !== close) throw new FilterProblem(`expected "," or "${close}"`, token.at);
      this.index++;
      if (token.kind === close) return items;
    }
  }
}
