/** The filter language's grammar: calls, names, literals and lists. What they mean is in filter.ts. */
import { FilterProblem, type Token, tokenize } from "./tokens.ts";

export type Literal = string | number | boolean | null;

export type Node =
  | { kind: "call"; name: string; args: Node[]; at: number }
  | { kind: "name"; value: string; at: number }
  | { kind: "literal"; value: Literal; at: number }
  | { kind: "list"; items: { value: Literal; at: number }[]; at: number };

export type Call = Extract<Node, { kind: "call" }>;

const WORDS = new Map<string, Literal>([
  ["true", true],
  ["false", false],
  ["null", null],
]);

/** How deep calls may be nested: more would be a mistake, and SQLite bounds the depth of an expression. */
const MAX_DEPTH = 20;

/** The tree of one filter: a single call. */
export function readSyntax(text: string): Call {
  const reader = new Reader(tokenize(text));
  const node = reader.argument(0);
  if (node.kind !== "call") throw new FilterProblem('a filter is a call such as eq(name, "x")', node.at);
  reader.finish();
  return node;
}

class Reader {
  private index = 0;

  constructor(private readonly tokens: Token[]) {}

  private get token(): Token {
    return this.tokens[Math.min(this.index, this.tokens.length - 1)] as Token;
  }

  finish(): void {
    if (this.token.kind !== "end") throw new FilterProblem("expected the end of the filter", this.token.at);
  }

  argument(depth: number): Node {
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

  private arguments(depth: number): Node[] {
    return this.sequence(")", () => this.argument(depth + 1));
  }

  private list(): Node {
    const at = this.token.at;
    return { kind: "list", items: this.sequence("]", () => this.literal()), at };
  }

  private literal(): { value: Literal; at: number } {
    const token = this.token;
    const word = token.kind === "name" ? WORDS.get(token.value.toLowerCase()) : undefined;
    if (token.kind !== "string" && token.kind !== "number" && word === undefined) {
      throw new FilterProblem("a list holds strings and numbers only", token.at);
    }
    this.index++;
    return { value: word === undefined ? (token as { value: Literal }).value : word, at: token.at };
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
