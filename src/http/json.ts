/** JSON values in requests: free objects, and the filters that are turned into SQL. */
import * as v from "valibot";

/** An object whose members are the user's own. */
export const JsonObject = v.pipe(
  v.custom<Record<string, unknown>>(
    (value) => typeof value === "object" && value !== null && !Array.isArray(value),
    "expected a JSON object",
  ),
  v.metadata({ type: "object" }),
);

/** D1 binds at most 100 parameters a statement, and a filter spends two a value. */
const FILTER_VALUES = 30;
const FILTER_DEPTH = 8;

/** A containment filter, small enough to become one SQL condition. */
export const JsonFilter = v.pipe(
  JsonObject,
  v.check((filter) => leaves(filter) <= FILTER_VALUES, `holds more than ${FILTER_VALUES} values`),
  v.check((filter) => depth(filter) <= FILTER_DEPTH, `nests deeper than ${FILTER_DEPTH} levels`),
);

function leaves(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce<number>((sum, member) => sum + leaves(member), 1);
}

function depth(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Object.values(value).reduce<number>((most, member) => Math.max(most, depth(member)), 0);
}
