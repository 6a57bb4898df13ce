/** The state of a deployment before its first request. */
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packagedMigrations } from "../../src/cli/deploy/migrations.ts";
import { migrate } from "../../src/cli/dev/migrate.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const KEPT = join(ROOT, ".wrangler", "tests");
const MIGRATIONS = join(ROOT, "migrations");

/**
 * A new folder of state with the D1 migrations, for this configuration. Wrangler takes seconds to apply them, so the state is
 * made once for each database and copied.
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
    await migrate(config, made, ROOT);
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
