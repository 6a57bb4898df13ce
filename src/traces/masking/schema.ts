/** The masking rules of a workspace: what a request may say. */
import * as v from "valibot";
import { SETS } from "./sets.ts";

// The part of JSONPath (RFC 9535) that rules may use: names, indexes, wildcards and descendants.

/** `deep`: at any depth below. `name` undefined: every member or element. */
export interface PathSegment {
  name: string | undefined;
  deep: boolean;
}

const TOKEN =
  /(\.\.?)(?:(\*)|([\p{L}_$][\p{L}\p{N}_$-]*))|(\.\.)?\[(?:(\*)|(\d{1,9})|'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]/uy;

/** The segments of `$.inputs.user['full name']`, `$..password` or `$.inputs.messages[*].content`; undefined when it is none. */
export function parsePath(text: string): PathSegment[] | undefined {
  if (!text.startsWith("$")) return undefined;
  const segments: PathSegment[] = [];
  let at = 1;
  while (at < text.length) {
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(text);
    if (!found) return undefined;
    const [whole, dots, , plain, descendants, , index, single, double] = found;
    const name = plain ?? index ?? (single ?? double)?.replaceAll(/\\(.)/g, "$1");
    segments.push({ name, deep: dots === ".." || descendants === ".." });
    at += whole.length;
  }
  if (segments.length === 0) return undefined;
  // `metadata` of a run is a member of `extra` on the wire.
  if (segments[0]?.name === "metadata" && !segments[0].deep) segments.unshift({ name: "extra", deep: false });
  return segments;
}

/** The most rules of a workspace, and the most characters of a pattern or path. */
const MAX_RULES = 50;
const MAX_CHARACTERS = 500;

const name = v.optional(v.pipe(v.string(), v.regex(/^[\w-]{1,40}$/, "must be 1 to 40 letters, digits, - or _")));

const SetRule = v.strictObject({ type: v.literal("set"), name, set: v.picklist(SETS) });
const RegexRule = v.strictObject({
  type: v.literal("regex"),
  name,
  /** A regular expression of RE2: no backreferences and no look-around. Its time is bounded (expressions.ts). */
  pattern: v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_CHARACTERS)),
  ignore_case: v.optional(v.boolean(), false),
});
const PathRule = v.strictObject({
  type: v.literal("path"),
  name,
  path: v.pipe(
    v.string(),
    v.maxLength(MAX_CHARACTERS),
    v.check(
      (text) => parsePath(text) !== undefined,
      "must be a JSONPath of names, indexes, * and .., such as $.inputs.user.ssn or $..password",
    ),
  ),
});

export const MaskRule = v.variant("type", [SetRule, RegexRule, PathRule]);
export type MaskRule = v.InferOutput<typeof MaskRule>;

export const MaskRules = v.strictObject({ rules: v.pipe(v.array(MaskRule), v.maxLength(MAX_RULES)) });

/** What replaces what a rule finds. */
export function maskText(rule: MaskRule): string {
  return `[masked:${rule.name ?? (rule.type === "set" ? rule.set : rule.type)}]`;
}
