/**
 * Regular expressions from outside, by RE2: their time is linear in the text, where a backtracking engine can take longer
 * than an invocation may. All of them are tried in one pass; only those that match replace.
 */
import type { RE2JS } from "re2js";
import { Problem } from "../../http/problem.ts";
import { neededBy } from "./needed.ts";
import { markOf, type MaskRule } from "./rules.ts";

type RegexRule = Extract<MaskRule, { type: "regex" }>;

/** The most instructions of one program: a counted repetition is written out. */
const MOST_INSTRUCTIONS = 5_000;
/** The most bytes of the automaton of all rules. */
const MOST_MEMORY = 2 * 1024 * 1024;

/** Masks a text by the rules; `null` without rules. @throws Problem 422 that says which pattern cannot be used */
export async function compileExpressions(rules: RegexRule[]): Promise<((text: string) => string) | undefined> {
  if (rules.length === 0) return undefined;
  const { Matcher, RE2JS, RE2Set } = await import("re2js");
  const set = new RE2Set(RE2Set.UNANCHORED, 0, MOST_MEMORY);
  const all = rules.map((rule) => {
    const pattern = rule.ignore_case ? `(?i)${rule.pattern}` : rule.pattern;
    const compiled = compile(RE2JS, pattern, rule.pattern);
    set.add(pattern);
    return { compiled, mark: Matcher.quoteReplacement(markOf(rule)) };
  });
  set.compile();
  const needed = rules.map((rule) => (rule.ignore_case ? undefined : neededBy(rule.pattern)));
  const mayMatch = (text: string) => needed.some((part) => part === undefined || text.includes(part));
  return (text) => {
    let masked = text;
    if (!mayMatch(text)) return text;
    for (const place of set.match(text)) {
      const rule = all[place];
      if (rule) masked = rule.compiled.matcher(masked).replaceAll(rule.mark);
    }
    return masked;
  };
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
  if (compiled.programSize() > MOST_INSTRUCTIONS) throw refused("it is too large. Use smaller repetitions");
  if (BETWEEN.some((text) => matchesNothing(compiled, text))) throw refused("it matches an empty text");
  return compiled;
}
