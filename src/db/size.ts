/** How large the rows of an answer would be, asked before they are read: a list of 1,000 may be larger than an isolate. */
import { type AnyColumn, type SQL, sql, type SQLWrapper } from "drizzle-orm";
import type { Database } from "./client.ts";

/** The bytes of these columns of a row, as `bytes`. */
export function bytesOf(...columns: AnyColumn[]): SQL.Aliased<number> {
  const sizes = columns.map((column) => sql`coalesce(length(CAST(${column} AS BLOB)), 0)`);
  return sql<number>`${sql.join(sizes, sql` + `)}`.as("bytes");
}

/** The sum over the rows of a query that selects `bytesOf`. */
export async function totalBytes(db: Database, query: SQLWrapper): Promise<number> {
  const row = await db.get<{ total: number | null }>(sql`SELECT sum(bytes) AS total FROM (${query})`);
  return row?.total ?? 0;
}
