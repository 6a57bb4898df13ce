/** Brings the local database to the newest schema. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { packagedMigrations } from "../deploy/migrations.ts";
import { Fault } from "../fault.ts";
import { writeWhole } from "../write-whole.ts";
import { MIGRATIONS } from "../package.ts";
import { wranglerOnce } from "./wrangler.ts";

/** The table in which Wrangler records migrations, as Wrangler makes it. */
const RECORD = `CREATE TABLE "d1_migrations"(
		id         INTEGER PRIMARY KEY AUTOINCREMENT,
		name       TEXT UNIQUE,
		applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
);`;

/**
 * Applies the migrations that the state in `persistTo` lacks. A file with the name of the newest migration avoids the
 * check. Wrangler takes a second for each migration, so a new database gets all of them as one file, in one transaction: a
 * start that is killed leaves no part of them, and the next start applies them one by one.
 */
export async function migrate(config: string, persistTo: string, cwd: string): Promise<void> {
  const names = packagedMigrations(MIGRATIONS);
  const newest = names.at(-1) ?? "";
  const note = join(persistTo, "newest-migration");
  if (existsSync(note) && readFileSync(note, "utf8") === newest) return;
  const file = join(persistTo, "schema.sql");
  const isNew = !existsSync(join(persistTo, "v3", "d1"));
  if (isNew) {
    mkdirSync(persistTo, { recursive: true });
    writeFileSync(file, [RECORD, ...names.map(recorded)].join("\n"));
  }
  const work = isNew ? ["execute", "DB", "--file", file, "--yes"] : ["migrations", "apply", "DB"];
  const { code, output } = await wranglerOnce(
    ["d1", ...work, "--local", "--config", config, "--persist-to", persistTo],
    cwd,
  );
  rmSync(file, { force: true });
  if (code !== 0) throw new Fault(`The D1 migrations failed.\n${output}`);
  writeWhole(note, newest);
}

/** A migration, and the row that records it. */
function recorded(name: string): string {
  return `${readFileSync(join(MIGRATIONS, name), "utf8")}\nINSERT INTO d1_migrations (name) VALUES ('${name}');`;
}
