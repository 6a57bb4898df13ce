/** Inserts that depend on other rows: quotas of a workspace, and what a row needs to be there. */
import { getTableColumns, type InferInsertModel, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Database } from "./client.ts";

/** A condition: fewer than `most` rows of the table match. It reads at most `most` of them. */
export function fewerThan(table: SQLiteTable, where: SQL | undefined, most: number): SQL {
  return sql`(SELECT count(*) FROM (SELECT 1 FROM ${table} WHERE ${where} LIMIT ${most})) < ${most}`;
}

/**
 * Inserts the row when fewer than `most` rows match: one statement, so that requests at the same time pass no quota. False
 * when there are as many.
 */
export async function insertBelow<Table extends SQLiteTable>(
  db: Database,
  table: Table,
  row: InferInsertModel<Table>,
  where: SQL | undefined,
  most: number,
): Promise<boolean> {
  const columns = Object.values(getTableColumns(table)) as SQLiteColumn[];
  const names = columns.map(({ name }) => sql.identifier(name));
  const inserted = await db.all(
    sql`INSERT INTO ${table} (${sql.join(names, sql`, `)}) ${rowIf(table, row, fewerThan(table, where, most))} RETURNING 1`,
  );
  return inserted.length > 0;
}

/** For `insert(table).select(…)`: the row, if the condition holds. */
export function rowIf<Table extends SQLiteTable>(
  table: Table,
  row: InferInsertModel<Table>,
  condition: SQL | undefined,
): SQL {
  const columns = Object.entries(getTableColumns(table)) as [keyof typeof row & string, SQLiteColumn][];
  const values = columns.map(([name, column]) => sql`${sql.param(row[name] ?? null, column)}`);
  return sql`SELECT ${sql.join(values, sql`, `)} WHERE ${condition}`;
}
