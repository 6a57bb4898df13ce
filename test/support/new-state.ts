/** The state of a deployment before its first request. */
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate } from "../../scripts/local-server.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const KEPT = join(ROOT, ".wrangler", "tests");
const MIGRATIONS = join(ROOT, "migrations");

/**
 * A new folder of state with the D1 migrations, for this configuration. Wrangler takes seconds to apply them, so the state is
 * made once and copied.
 */
export function newState(config: string): string {
  const hash = createHash("sha256");
  const migrations = readdirSync(MIGRATIONS).filter((name) => name.endsWith(".sql"));
  // The state is the same for every main module.
  hash.update(readFileSync(config, "utf8").replace(/^main = .*$/m, ""));
  const sources = [join(ROOT, "package-lock.json"), ...migrations.map((name) => join(MIGRATIONS, name))];
  for (const file of sources) hash.update(readFileSync(file)).update("\0");
  const kept = join(KEPT, `state-${hash.digest("hex").slice(0, 16)}`);
  if (!existsSync(kept)) {
    mkdirSync(KEPT, { recursive: true });
    const made = mkdtempSync(join(KEPT, "making-"));
    migrate(made, config);
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
