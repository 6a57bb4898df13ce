/** Inserts that depend on other rows: quotas of a workspace, and what a row needs to be there. */
import { getTableColumns, type InferInsertModel, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Database } from "./client.ts";
import { Problem } from "../lib/problem.ts";

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

// Changes that read a row first: they write it only where it is still as it was read, so that no other change is lost.

/** What a change gives when another request has changed the row since it was read. */
export const CHANGED = Symbol("changed");

const TRIES = 50;

/** Carries out a change that reads a row and writes it, again for as long as others change the row in between. */
export async function untilUnchanged<T>(change: () => Promise<T | typeof CHANGED>): Promise<T> {
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    const done = await change();
    if (done !== CHANGED) return done;
    // Concurrent writers retry at different times.
    await scheduler.wait(Math.random() * 10 * attempt);
  }
  const headers = { "retry-after": "1" };
  throw new Problem(503, "Too many requests change this at once. Send the request again.", { headers });
}

/** The time of a change, which is also the version of the row: no two changes of a row have the same. Milliseconds. */
export const nextTime = (before: number): number => Math.max(Date.now(), before + 1);

/** Whether a statement failed because another row has a value that is unique, such as a name. */
export function isTaken(error: unknown, table = ""): boolean {
  if (!(error instanceof Error)) return false;
  return error.message.includes(`UNIQUE constraint failed: ${table}`) || isTaken(error.cause, table);
}

// Deletes many D1 rows in batches. A statement may take at most 30 seconds, and it blocks other writers.

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
