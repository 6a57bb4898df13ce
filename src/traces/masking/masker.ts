/** Masks the values of a run by rules, before anything of it is stored. */
import { createHmac } from "node:crypto";
import { isExactNumber } from "../../lib/json.ts";
import { compileExpressions } from "./expressions.ts";
import { parsePath, type PathSegment, maskText, type MaskRule } from "./schema.ts";
import { MASKS, type SetName } from "./sets.ts";
import type { StoredFeedback } from "../types.ts";

interface PathRule {
  segments: PathSegment[];
  mark: string;
}
/** A path rule, and how many of its segments lead to the value. */
type State = [rule: PathRule, segment: number];

/** Names and short values repeat, so their results are cached, up to this many. */
const KEPT = 5_000;
const SHORT = 40;

/** A number of fewer digits is none that a rule for numbers finds. */
const LONG_NUMBER = 1_000_000;

/** In place of a text in which a search does not end, and of a value that nests too deep to be searched. */
const TOO_LARGE = "[masked:too large to search]";

export class Masker {
  readonly #paths: PathRule[];
  readonly #known = new Map<string, string>();
  readonly #sets: { mask: (typeof MASKS)[SetName]; mark: string }[];

  private constructor(
    rules: MaskRule[],
    private readonly expressions: ((text: string) => string) | undefined,
    private readonly secret: string,
  ) {
    this.#paths = rules.flatMap((rule) => {
      const segments = rule.type === "path" ? parsePath(rule.path) : undefined;
      return segments ? [{ segments, mark: maskText(rule) }] : [];
    });
    this.#sets = rules.flatMap((rule) =>
      rule.type === "set" ? [{ mask: MASKS[rule.set], mark: maskText(rule) }] : [],
    );
  }

  /** Undefined when there are no rules. @throws Problem 422 for a pattern that cannot be used */
  static async of(rules: MaskRule[], secret: string): Promise<Masker | undefined> {
    if (rules.length === 0) return undefined;
    const expressions = await compileExpressions(rules.filter((rule) => rule.type === "regex"));
    return new Masker(rules, expressions, secret);
  }

  /** A field of a run: the same value when nothing of it is masked. */
  field(name: string, value: unknown): unknown {
    const states = this.#paths.map((rule): State => [rule, 0]);
    return searchOrTooLarge(() => this.#value(value, this.#below(states, name)));
  }

  /** The name of an attachment. Those that are masked alike stay apart, and the same name gets the same one again. */
  attachment(name: string): string {
    const masked = this.#text(name);
    if (masked === name) return name;
    const digest = createHmac("sha256", this.secret).update(`attachment ${name}`).digest("hex").slice(0, 8);
    return `${masked.slice(0, 150)}-${digest}`;
  }

  #value(value: unknown, states: State[]): unknown {
    const whole = states.length === 0 ? undefined : states.find(([{ segments }, at]) => at === segments.length);
    if (whole && value !== null && value !== undefined) return whole[0].mark;
    if (typeof value === "string") return this.#text(value);
    if (typeof value === "number" || isExactNumber(value)) return this.#number(value);
    if (typeof value !== "object" || value === null) return value;
    return Array.isArray(value) ? this.#list(value, states) : this.#members(value as Record<string, unknown>, states);
  }

  #list(list: unknown[], states: State[]): unknown[] {
    let changed: unknown[] | undefined;
    for (const [place, item] of list.entries()) {
      const masked = this.#value(item, this.#below(states, String(place)));
      if (masked === item && !changed) continue;
      changed ??= list.slice(0, place);
      changed.push(masked);
    }
    return changed ?? list;
  }

  #members(members: Record<string, unknown>, states: State[]): Record<string, unknown> {
    let changed: Map<string, unknown> | undefined;
    const alike = new Map<string, number>();
    for (const [place, [key, item]] of Object.entries(members).entries()) {
      const name = this.#text(key);
      const masked = this.#value(item, this.#below(states, key));
      if (!changed) {
        if (masked === item && name === key) continue;
        changed = new Map(Object.entries(members).slice(0, place));
      }
      changed.set(apart(name, changed, alike), masked);
    }
    return changed ? Object.fromEntries(changed) : members;
  }

  #number(value: unknown): unknown {
    if (typeof value === "number" && (!Number.isInteger(value) || Math.abs(value) < LONG_NUMBER)) return value;
    const text = JSON.stringify(value);
    const masked = this.#text(text);
    return masked === text ? value : masked;
  }

  #text(text: string): string {
    if (text.length < 3) return text;
    if (text.length > SHORT) return this.#masked(text);
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const masked = this.#masked(text);
    if (this.#known.size >= KEPT) this.#known.clear();
    this.#known.set(text, masked);
    return masked;
  }

  #masked(text: string): string {
    return searchOrTooLarge(() => {
      let masked = this.expressions ? this.expressions(text) : text;
      for (const { mask, mark } of this.#sets) masked = mask(masked, mark);
      return masked;
    });
  }

  #below(states: State[], key: string): State[] {
    if (states.length === 0) return states;
    const below: State[] = [];
    for (const state of states) {
      const [rule, at] = state;
      const segment = rule.segments[at];
      if (!segment) continue;
      if (segment.name === undefined || segment.name === key) below.push([rule, at + 1]);
      if (segment.deep) below.push(state);
    }
    return below;
  }
}

/** The stack is too small for a match of millions of characters, and for a value that nests thousands of levels deep. */
function searchOrTooLarge<T>(search: () => T): T | typeof TOO_LARGE {
  try {
    return search();
  } catch (error) {
    if (error instanceof RangeError) return TOO_LARGE;
    throw error;
  }
}

/** The name of a member that no other of the object has: two names may be masked alike. `alike`: how often each came. */
function apart(name: string, taken: Map<string, unknown>, alike: Map<string, number>): string {
  let own = name;
  let count = alike.get(name) ?? 1;
  while (taken.has(own)) own = `${name} (${(count += 1)})`;
  alike.set(name, count);
  return own;
}

// What people and programs write about a run is masked like the run.

/** The feedback with its texts masked. Its key and ids stay: it is found by them. */
export function maskFeedback(masker: Masker | undefined, feedback: StoredFeedback): StoredFeedback {
  if (!masker) return feedback;
  const { value, comment, correction, feedback_source, extra } = feedback;
  const texts = { value, comment, correction, feedback_source, extra };
  const masked = masker.field("feedback", texts) as typeof texts;
  const { type, user_id } = feedback_source;
  return { ...feedback, ...masked, feedback_source: { ...masked.feedback_source, type, user_id } };
}
