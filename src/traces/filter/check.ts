/** Whether filters can be understood, and are small enough for one SQL statement. */
import { Problem } from "../../http/problem.ts";
import { parseFilter } from "./filter.ts";
import { compileFilter } from "./sql.ts";

/** SQLite binds 100 parameters in a statement on this platform, and a query has some of its own. */
const MAX_VALUES = 80;

/**
 * Checks the filters that one query has. @throws Problem 400: a filter with a fault, or more than 80 values in all of them
 * (a condition has one, `search` up to four, `has` of metadata two for each entry).
 */
export function checkFilters(texts: (string | undefined)[]): void {
  let values = 0;
  for (const text of texts) {
    if (!text) continue;
    values += compileFilter(parseFilter(text), "r", { session_id: "", trace_tier: "longlived" }).values.length;
  }
  if (values > MAX_VALUES) {
    throw new Problem(
      400,
      `Invalid filter: the filters of a query hold at most ${MAX_VALUES} values, and these ${values}.`,
    );
  }
}
