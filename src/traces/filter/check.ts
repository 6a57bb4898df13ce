/** Validates filters: their syntax, and the number of values that one SQL statement can bind. */
import { Problem } from "../../http/problem.ts";
import { parseFilter } from "./filter.ts";
import { compileFilter } from "./sql.ts";

/** The platform binds at most 100 parameters per statement, and a query has some besides its filters. */
const MAX_VALUES = 80;

/**
 * Checks the filters of one query.
 * @throws Problem 400 for a syntax error, or for more than 80 values in all filters. A condition has one value, `search` up to
 * four, and `has(metadata, …)` two for each entry.
 */
export function checkFilters(texts: (string | undefined)[]): void {
  let values = 0;
  for (const text of texts) {
    if (text === undefined) continue;
    values += compileFilter(parseFilter(text), "r", { session_id: "", trace_tier: "longlived" }).values.length;
  }
  if (values > MAX_VALUES) {
    throw new Problem(
      400,
      `Invalid filter: the filters of a query hold at most ${MAX_VALUES} values, and these ${values}.`,
    );
  }
}
