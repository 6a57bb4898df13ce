/** Deleting many rows of D1 in pieces: one statement may take 30 seconds, and other writers wait for it. */
import { type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Database } from "./client.ts";

const AT_ONCE = 1_000;

/** Deletes up to `most` of the rows that match. Gives how many there were. */
async function deleteSome(db: Database, table: SQLiteTable, where: SQL | undefined, most: number): Promise<number> {
  let deleted = 0;
  while (deleted < most) {
    // Not D1's own count, which includes what triggers change.
    const rows = await db.all(
      sql`DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE ${where} LIMIT ${AT_ONCE}) RETURNING 1`,
    );
    deleted += rows.length;
    if (rows.length < AT_ONCE) break;
  }
  return deleted;
}

/** Deletes rows whose time is over, 10,000 at most: the next minute goes on with the rest. */
export async function deleteOverdue(db: Database, table: SQLiteTable, where: SQL | undefined): Promise<number> {
  return deleteSome(db, table, where, 10_000);
}

/** Deletes all rows that match. */
export async function deleteAll(db: Database, table: SQLiteTable, where: SQL | undefined): Promise<void> {
  await deleteSome(db, table, where, Number.POSITIVE_INFINITY);
}
