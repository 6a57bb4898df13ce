/** Brings the local database to the newest schema. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "../fault.ts";
import { MIGRATIONS, packagedMigrations } from "../package.ts";
import { writeWhole } from "../write-whole.ts";
import { convert, Log, LogLevel, newMiniflare } from "./miniflare.ts";

/** The table in which Wrangler records migrations, as Wrangler makes it. */
const RECORD = `CREATE TABLE IF NOT EXISTS "d1_migrations"(
		id         INTEGER PRIMARY KEY AUTOINCREMENT,
		name       TEXT UNIQUE,
		applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
);`;

/** Where Miniflare keeps local data in the folder that Wrangler calls `--persist-to`. */
export const dataIn = (persistTo: string): string => join(persistTo, "v3");

/**
 * Applies the migrations that the database with this local id lacks, in one transaction: a start that is killed leaves no
 * part of them. A file with the name of the newest migration avoids the check.
 */
export async function migrate(id: string, persistTo: string): Promise<void> {
  const names = packagedMigrations(MIGRATIONS);
  const newest = names.at(-1) ?? "";
  const note = join(persistTo, "newest-migration");
  if (existsSync(note) && readFileSync(note, "utf8") === newest) return;
  try {
    // What an attempt has committed is recorded. The connection to workerd can end on a machine under load.
    await apply(names, id, persistTo).catch(() => apply(names, id, persistTo));
  } catch (error) {
    const { message, cause } = error as Error;
    throw new Fault(`The D1 migrations failed.\n${message}${cause instanceof Error ? `: ${cause.message}` : ""}`);
  }
  writeWhole(note, newest);
}

async function apply(names: string[], id: string, persistTo: string): Promise<void> {
  const server = newMiniflare({
    ...convert({ workers: [{ name: "migrations", modules: true, script: "", d1Databases: { DB: id } }] }),
    cf: false,
    log: new Log(LogLevel.NONE),
    resourcePersistencePath: dataIn(persistTo),
  });
  try {
    const db = await server.getD1Database("DB");
    await db.prepare(RECORD).run();
    const { results } = await db.prepare("SELECT name FROM d1_migrations").all<{ name: string }>();
    const applied = new Set(results.map(({ name }) => name));
    const lacking = names.filter((name) => !applied.has(name));
    const statements = lacking.flatMap((name) => [
      ...readStatements(name).map((sql) => db.prepare(sql)),
      db.prepare("INSERT INTO d1_migrations (name) VALUES (?)").bind(name),
    ]);
    if (statements.length > 0) await db.batch(statements);
  } finally {
    await server.dispose();
  }
}

/** drizzle-kit marks where a statement ends. */
const readStatements = (name: string): string[] =>
  readFileSync(join(MIGRATIONS, name), "utf8").split("--> statement-breakpoint");
