/** The state of a deployment before its first request. */
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packagedMigrations } from "../../src/cli/project/package.ts";
import { migrate } from "../../src/cli/dev/config.ts";
import { readWranglerFile } from "../../src/cli/project/wrangler-config.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const KEPT = join(ROOT, ".wrangler", "tests");
const MIGRATIONS = join(ROOT, "migrations");

/** The name by which Miniflare knows the database of a configuration, as Wrangler translates it. */
export function databaseIn(config: string): string {
  const databases = readWranglerFile(config).d1_databases as {
    binding: string;
    database_id?: string;
    preview_database_id?: string;
  }[];
  const { binding, database_id, preview_database_id } = databases[0] as (typeof databases)[number];
  return preview_database_id ?? database_id ?? binding;
}

/**
 * A new folder of state with the D1 migrations, for this configuration. The state is made once for each database and copied.
 */
export async function newState(config: string): Promise<string> {
  const hash = createHash("sha256");
  const migrations = packagedMigrations(MIGRATIONS);
  hash.update(/^\[\[d1_databases\]\][^[]*/m.exec(readFileSync(config, "utf8"))?.[0] ?? "");
  const sources = [join(ROOT, "package-lock.json"), ...migrations.map((name) => join(MIGRATIONS, name))];
  for (const file of sources) hash.update(readFileSync(file)).update("\0");
  const kept = join(KEPT, `state-${hash.digest("hex").slice(0, 16)}`);
  if (!existsSync(kept)) {
    mkdirSync(KEPT, { recursive: true });
    const made = mkdtempSync(join(KEPT, "making-"));
    await migrate(databaseIn(config), made);
    try {
      renameSync(made, kept);
    } catch {
      // Another file's process has made it in the meantime.
      rmSync(made, { recursive: true, force: true });
    }
  }
  const state = mkdtempSync(join(tmpdir(), "weir-"));
  cpSync(kept, state, { recursive: true });
  return state;
}
