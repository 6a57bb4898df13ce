/** Filters over an item's value, as LangGraph's stores have them: `{field: value}` or `{field: {$gte: 1, $lt: 5}}`. */
import { type AnyColumn, type SQL, sql } from "drizzle-orm";
import { member } from "../../db/conditions.ts";
import { isObject } from "../../lib/json.ts";

export const OPERATORS = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin"] as const;
type Operator = (typeof OPERATORS)[number];

const COMPARISONS = { $gt: ">", $gte: ">=", $lt: "<", $lte: "<=" };

/** Whether a filter's value is made of operators rather than being a value to match. */
export function isOperators(value: unknown): value is Partial<Record<Operator, unknown>> {
  const keys = isObject(value) ? Object.keys(value) : [];
  return keys.length > 0 && keys.every((key) => key.startsWith("$"));
}

/** The condition that the object in `column` passes `filter`: every field, every operator. */
export function whereFilter(column: AnyColumn, filter: Record<string, unknown>): SQL {
  const tests = Object.entries(filter).flatMap(([field, value]) =>
    isOperators(value)
      ? Object.entries(value).map(([operator, operand]) => test(column, field, operator as Operator, operand))
      : [member(column, field, value)],
  );
  return tests.length === 0 ? sql`1` : sql.join(tests, sql` AND `);
}

function test(column: AnyColumn, field: string, operator: Operator, operand: unknown): SQL {
  switch (operator) {
    case "$eq":
      return member(column, field, operand);
    case "$ne":
      return sql`NOT ${member(column, field, operand)}`;
    case "$in":
      return matchesAny(column, field, operand as unknown[]);
    case "$nin":
      return sql`NOT ${matchesAny(column, field, operand as unknown[])}`;
    case "$gt":
    case "$gte":
    case "$lt":
    case "$lte": {
      // Numbers compare with numbers and texts with texts; anything else never passes.
      const types = sql.raw(typeof operand === "number" ? "('integer', 'real')" : "('text')");
      return sql`EXISTS (SELECT 1 FROM json_each(${column}) e WHERE e.key = ${field} AND e.type IN ${types}
        AND e.value ${sql.raw(COMPARISONS[operator])} ${operand})`;
    }
  }
}

function matchesAny(column: AnyColumn, field: string, operands: unknown[]): SQL {
  if (operands.length === 0) return sql`0`;
  return sql`(${sql.join(
    operands.map((operand) => member(column, field, operand)),
    sql` OR `,
  )})`;
}
