/**
 * Regular expressions from outside, by RE2: one search takes time that is linear in the text, where a backtracking engine can
 * take longer than an invocation may. All of them are tried in one pass; only those that match replace. Many searches, each of
 * which reads to the end, would take quadratic time: a long text is searched in pieces, and all searches together are bounded.
 */
import type { RE2JS } from "re2js";
import { Problem } from "../../lib/problem.ts";
import { maskText, type MaskRule } from "./schema.ts";

// A fast first look at a text: what every match of a pattern contains.

/** Literals of the pattern outside of groups and classes that no quantifier makes optional. */
const SYNTAX_PIECE = /\\(.)|\[(?:\\.|[^\]\\])*\]|[()|^$.*+?{}]|[^\\[\](){}|^$.*+?]+/gsu;
const OPTIONAL = /^(?:[*?]|\{0)/;

/**
 * A text that each match of the pattern contains, the longest one; undefined when there may be none. Conservative: what is
 * not plain is not read.
 */
export function neededBy(pattern: string): string | undefined {
  // `\x41`, `\pL` and `\Q` take more than one character.
  if (/\\[^\W_dwsbDWSB]/.test(pattern)) return undefined;
  // A class may begin with its own bracket, or have a class of POSIX in it.
  if (/[[\]]/.test(pattern.replaceAll(/\\./g, "").replaceAll(/\[\^?[^[\]^][^[\]]*\]/g, ""))) return undefined;
  // A bar, a group or a flag may change what the rest means.
  if (/[|()]/.test(pattern.replaceAll(/\\./g, ""))) return undefined;
  const found: string[] = [];
  for (const piece of pattern.matchAll(SYNTAX_PIECE)) {
    const [text, escaped] = piece;
    if (escaped !== undefined || /^[[^$.*+?{}]/.test(text)) continue;
    const after = pattern.slice(piece.index + text.length);
    if (/[*+?{]/.test(pattern[piece.index - 1] ?? "")) {
      // The inside of a counted repetition.
      if (/\{[\d,]*$/.test(pattern.slice(0, piece.index))) continue;
    }
    found.push(OPTIONAL.test(after) ? text.replace(/.$/su, "") : text);
  }
  return found.filter((text) => text !== "").toSorted((a, b) => b.length - a.length)[0];
}

type RegexRule = Extract<MaskRule, { type: "regex" }>;

/** The most instructions of one program: a counted repetition is written out. */
const MAX_INSTRUCTIONS = 5_000;
/** The most bytes of the automaton of all rules. */
const MAX_MEMORY = 2 * 1024 * 1024;

/** Compiles the rules to a function that masks a text; undefined without rules. @throws Problem 422 that names the invalid pattern */
export async function compileExpressions(rules: RegexRule[]): Promise<((text: string) => string) | undefined> {
  if (rules.length === 0) return undefined;
  const { RE2JS, RE2Set } = await import("re2js");
  const set = new RE2Set(RE2Set.UNANCHORED, 0, MAX_MEMORY);
  const all = rules.map((rule) => {
    const pattern = rule.ignore_case ? `(?i)${rule.pattern}` : rule.pattern;
    const compiled = compile(RE2JS, pattern, rule.pattern);
    set.add(pattern);
    return { compiled, mark: maskText(rule) };
  });
  set.compile();
  const needed = rules.map((rule) => (rule.ignore_case ? undefined : neededBy(rule.pattern)));
  const mayMatch = (text: string) => needed.some((part) => part === undefined || text.includes(part));
  return (text) => {
    let masked = text;
    if (!mayMatch(text)) return text;
    for (const place of set.match(text)) {
      const rule = all[place];
      if (rule) masked = replaceAll(rule.compiled, masked, rule.mark);
    }
    return masked;
  };
}

/** Characters of a piece of a long text. */
const PIECE = 16_384;
/** By how many two pieces overlap: a match that needs more to be seen is not found where a piece ends. */
const OVERLAP = 2_048;
/** The most characters that the searches of one pattern in one text read together, if each reads to the end of its piece. */
const MAX_READ = 30_000_000;

/** Replaces what the pattern finds. What is left when the bound is reached is masked whole. */
function replaceAll(pattern: RE2JS, text: string, mark: string): string {
  let masked = "";
  let read = 0;
  let size = PIECE;
  for (let at = 0; at < text.length;) {
    const piece = text.slice(at, at + size);
    const isLast = at + size >= text.length;
    const matcher = pattern.matcher(piece);
    let end = 0;
    let next = isLast ? piece.length : piece.length - OVERLAP;
    size = PIECE;
    while (matcher.find()) {
      const start = matcher.start();
      read += piece.length - start;
      if (read > MAX_READ) return masked + mark;
      if (!isLast && (start >= next || matcher.end() === piece.length)) {
        // The next piece has it whole. One that reaches the end of this piece may be longer than a piece.
        if (start < next) size = 2 * piece.length;
        next = start;
        break;
      }
      masked += piece.slice(end, start) + mark;
      end = matcher.end();
    }
    next = Math.max(end, next);
    masked += piece.slice(end, next);
    at += next;
  }
  return masked;
}

/** Texts in which an assertion alone, such as `\b`, matches. */
const BETWEEN = ["", "a", "a a", "\n"];

function matchesNothing(compiled: RE2JS, text: string): boolean {
  const matcher = compiled.matcher(text);
  while (matcher.find()) if (matcher.end() === matcher.start()) return true;
  return false;
}

function compile(engine: typeof RE2JS, pattern: string, shown: string): RE2JS {
  const refused = (why: string) => new Problem(422, `Invalid pattern ${JSON.stringify(shown)}: ${why}.`);
  let compiled: RE2JS;
  try {
    compiled = engine.compile(pattern);
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^error parsing regexp: /, "") : "cannot be read";
    throw refused(`${why}. Patterns are those of RE2, without backreferences and look-around`);
  }
  if (compiled.programSize() > MAX_INSTRUCTIONS) throw refused("it is too large. Use smaller repetitions");
  if (BETWEEN.some((text) => matchesNothing(compiled, text))) throw refused("it matches an empty text");
  return compiled;
}
