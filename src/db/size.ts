/** Measures the rows of a list before they are read. 1,000 rows can be larger than an isolate's memory. */
import { type AnyColumn, type SQL, sql, type SQLWrapper } from "drizzle-orm";
import type { Database } from "./client.ts";

/** A column `bytes`: the size of these columns in a row. */
export function bytesColumn(...columns: AnyColumn[]): SQL.Aliased<number> {
  const sizes = columns.map((column) => sql`coalesce(length(CAST(${column} AS BLOB)), 0)`);
  return sql<number>`${sql.join(sizes, sql` + `)}`.as("bytes");
}

/** The sum of `bytes` over the rows of a query that selects `bytesColumn`. */
export async function totalBytes(db: Database, query: SQLWrapper): Promise<number> {
  const row = await db.get<{ total: number | null }>(sql`SELECT sum(bytes) AS total FROM (${query})`);
  return row?.total ?? 0;
}
