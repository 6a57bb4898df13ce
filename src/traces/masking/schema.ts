/** The masking rules of a workspace: what a request may say. */
import * as v from "valibot";
import { parsePath } from "./path.ts";
import { SETS } from "./sets.ts";

/** The most rules of a workspace, and the most characters of a pattern or path. */
const MOST_RULES = 50;
const MOST_CHARACTERS = 500;

const name = v.optional(v.pipe(v.string(), v.regex(/^[\w-]{1,40}$/, "must be 1 to 40 letters, digits, - or _")));

const SetRule = v.strictObject({ type: v.literal("set"), name, set: v.picklist(SETS) });
const RegexRule = v.strictObject({
  type: v.literal("regex"),
  name,
  /** A regular expression of RE2: no backreferences and no look-around. Its time is bounded (expressions.ts). */
  pattern: v.pipe(v.string(), v.minLength(1), v.maxLength(MOST_CHARACTERS)),
  ignore_case: v.optional(v.boolean(), false),
});
const PathRule = v.strictObject({
  type: v.literal("path"),
  name,
  path: v.pipe(
    v.string(),
    v.maxLength(MOST_CHARACTERS),
    v.check(
      (text) => parsePath(text) !== undefined,
      "must be a JSONPath of names, indexes, * and .., such as $.inputs.user.ssn or $..password",
    ),
  ),
});

export const MaskRule = v.variant("type", [SetRule, RegexRule, PathRule]);
export type MaskRule = v.InferOutput<typeof MaskRule>;

export const MaskRules = v.strictObject({ rules: v.pipe(v.array(MaskRule), v.maxLength(MOST_RULES)) });

/** What replaces what a rule finds. */
export function maskText(rule: MaskRule): string {
  return `[masked:${rule.name ?? (rule.type === "set" ? rule.set : rule.type)}]`;
}
