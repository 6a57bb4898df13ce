import { type AnyColumn, type SQL, sql } from "drizzle-orm";

/** A condition: the column holds one of `values`. One bound parameter however many they are: D1 binds at most 100. */
export function inList(column: AnyColumn, values: (string | number)[]): SQL {
  return sql`${column} IN (SELECT value FROM json_each(${JSON.stringify(values)}))`;
}
