/** Deletes many D1 rows in batches. A statement may take at most 30 seconds, and it blocks other writers. */
import { type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Database } from "./client.ts";

const AT_ONCE = 1_000;

/** Deletes up to `most` matching rows. Returns the number of deleted rows. */
async function deleteSome(db: Database, table: SQLiteTable, where: SQL | undefined, most: number): Promise<number> {
  let deleted = 0;
  while (deleted < most) {
    // D1's own count of changes includes the changes of triggers.
    const rows = await db.all(
      sql`DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE ${where} LIMIT ${AT_ONCE}) RETURNING 1`,
    );
    deleted += rows.length;
    if (rows.length < AT_ONCE) break;
  }
  return deleted;
}

/** Deletes at most 10,000 matching rows. Housekeeping deletes the rest in the next minutes. */
export async function deleteOverdue(db: Database, table: SQLiteTable, where: SQL | undefined): Promise<number> {
  return deleteSome(db, table, where, 10_000);
}

/** Deletes all matching rows. */
export async function deleteAll(db: Database, table: SQLiteTable, where: SQL | undefined): Promise<void> {
  await deleteSome(db, table, where, Number.POSITIVE_INFINITY);
}
