/** The part of the filter language that applies to examples: conditions on their metadata. */
import { type SQL, sql } from "drizzle-orm";
import { contains } from "../../../db/contains.ts";
import { examples } from "../../../db/schema.ts";
import { Problem } from "../../../http/problem.ts";
import { type Filter, parseFilter } from "../../filter/filter.ts";

/** A condition binds up to 40 parameters, and D1 takes 100 a statement. */
const MOST_BYTES = 1_000;

/** The condition of a filter's text. @throws Problem 400 */
export function exampleFilter(text: string): SQL {
  if (Buffer.byteLength(text) > MOST_BYTES) {
    throw new Problem(400, `Invalid filter: a filter of examples holds at most ${MOST_BYTES} bytes.`);
  }
  const counter = { left: 40 };
  return conditionOf(parseFilter(text), counter);
}

function conditionOf(filter: Filter, counter: { left: number }): SQL {
  const { op } = filter;
  if (op === "and" || op === "or") {
    const parts = filter.args.map((arg) => sql`(${conditionOf(arg, counter)})`);
    return sql.join(parts, sql.raw(` ${op.toUpperCase()} `));
  }
  if (op === "not") return sql`NOT (${conditionOf(filter.arg, counter)})`;
  if (op === "contains") {
    spend(counter, 2 * JSON.stringify(filter.metadata).split(/[,:]/).length);
    return contains(examples.metadata, filter.metadata);
  }
  if (op === "exists") {
    spend(counter, 1);
    return sql`EXISTS (SELECT 1 FROM json_each(${examples.metadata}) m WHERE m.key = ${filter.key})`;
  }
  throw new Problem(
    400,
    "Invalid filter: a filter of examples takes and, or, not, has(metadata, …) and exists(metadata, …). Use splits and metadata for others.",
  );
}

function spend(counter: { left: number }, values: number): void {
  counter.left -= values;
  if (counter.left < 0) throw new Problem(400, "Invalid filter: a filter of examples holds at most 20 values.");
}
