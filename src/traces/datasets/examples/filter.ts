/** The part of the filter language that applies to examples: conditions on their metadata. */
import { type SQL, sql } from "drizzle-orm";
import { contains } from "../../../db/conditions.ts";
import { examples } from "../../review/datasets/table.ts";
import { isExactNumber, isObject } from "../../../lib/json.ts";
import { Problem } from "../../../lib/problem.ts";
import { type Filter, parseFilter } from "../../filter/filter.ts";

/** D1 binds 100 parameters a statement: `metadata` of the same request takes up to 60, and a value here takes two. */
const MOST_VALUES = 10;
/** D1 takes expressions of depth 100. */
const MOST_LEVELS = 5;

/** The condition of a filter's text. @throws Problem 400 */
export function exampleFilter(text: string): SQL {
  return compileFilter(parseFilter(text), { values: MOST_VALUES }, MOST_LEVELS);
}

function compileFilter(filter: Filter, left: { values: number }, levels: number): SQL {
  if (levels === 0) throw invalid(`it nests deeper than ${MOST_LEVELS} levels`);
  const { op } = filter;
  if (op === "and" || op === "or") {
    const parts = filter.args.map((arg) => sql`(${compileFilter(arg, left, levels - 1)})`);
    return sql.join(parts, sql.raw(` ${op.toUpperCase()} `));
  }
  if (op === "not") return sql`NOT (${compileFilter(filter.arg, left, levels - 1)})`;
  if (op === "contains") {
    // Numbers of examples are stored as JavaScript has them.
    const metadata = Object.fromEntries(
      Object.entries(filter.metadata).map(([key, value]) => [
        key,
        isExactNumber(value) ? Number(value.rawJSON) : value,
      ]),
    );
    const values = Object.values(metadata);
    if (values.some((value) => Array.isArray(value) || isObject(value))) {
      throw invalid("has(metadata, …) takes an object of plain values; use the parameter metadata for others");
    }
    spendValues(left, values.length);
    return contains(examples.metadata, metadata);
  }
  if (op === "exists") {
    spendValues(left, 1);
    return sql`EXISTS (SELECT 1 FROM json_each(${examples.metadata}) m WHERE m.key = ${filter.key})`;
  }
  throw invalid("a filter of examples takes and, or, not, has(metadata, …) and exists(metadata, …)");
}

function spendValues(left: { values: number }, values: number): void {
  left.values -= values;
  if (left.values < 0) throw invalid(`a filter of examples holds at most ${MOST_VALUES} values`);
}

function invalid(what: string): Problem {
  return new Problem(400, `Invalid filter: ${what}.`);
}
