/** Brings the local database to the newest schema. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "../fault.ts";
import { writeWhole } from "../write-whole.ts";
import { MIGRATIONS } from "../package.ts";
import { wranglerOnce } from "./wrangler.ts";

/**
 * Applies the migrations that the state in `persistTo` lacks. A file with the name of the newest migration avoids the
 * check.
 */
export async function migrate(config: string, persistTo: string, cwd: string): Promise<void> {
  const newest =
    readdirSync(MIGRATIONS)
      .filter((name) => name.endsWith(".sql"))
      .sort()
      .at(-1) ?? "";
  const note = join(persistTo, "newest-migration");
  if (existsSync(note) && readFileSync(note, "utf8") === newest) return;
  const args = ["d1", "migrations", "apply", "DB", "--local", "--config", config, "--persist-to", persistTo];
  const { code, output } = await wranglerOnce(args, cwd);
  if (code !== 0) throw new Fault(`The D1 migrations failed.\n${output}`);
  writeWhole(note, newest);
}
