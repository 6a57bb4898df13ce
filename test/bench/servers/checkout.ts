/** What a plain server starts from: the bundle of a checkout, and a state with its database. This process makes each once. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { QUIET } from "../../../src/cli/dev/wrangler.ts";

const made = new Map<string, string>();

/** A temporary folder that `fill` fills when it is needed first. It goes with this process. */
function once(key: string, fill: (folder: string) => void): string {
  const known = made.get(key);
  if (known) return known;
  const folder = mkdtempSync(join(tmpdir(), "weir-bench-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  fill(folder);
  made.set(key, folder);
  return folder;
}

function wrangler(checkout: string, config: string, ...args: string[]): void {
  const script = join(checkout, "node_modules", "wrangler", "bin", "wrangler.js");
  const env = { ...process.env, ...QUIET, CI: "true" };
  execFileSync(process.execPath, [script, ...args, "--config", config], { cwd: checkout, env, stdio: "pipe" });
}

/** The entry of the bundle that `wrangler deploy` makes. Its other modules are beside it. */
export function bundleOf(checkout: string, config: string): string {
  // Wrangler refuses to build without the folder of the page.
  mkdirSync(join(checkout, "dist", "web"), { recursive: true });
  const folder = once(config, (outdir) => wrangler(checkout, config, "deploy", "--dry-run", "--outdir", outdir));
  return join(folder, readdirSync(folder).find((name) => name.endsWith(".js")) ?? "");
}

/**
 * Writes a state without data into `folder`. All configurations of a checkout have the same database. Wrangler takes a second
 * for each migration, so they are one file here, as for `weir dev`.
 */
export function copyEmptyState(checkout: string, config: string, folder: string): void {
  const migrations = join(checkout, "migrations");
  const empty = once(checkout, (persistTo) => {
    const names = readdirSync(migrations).filter((name) => name.endsWith(".sql"));
    const file = join(persistTo, "schema.sql");
    writeFileSync(
      file,
      names
        .toSorted()
        .map((name) => readFileSync(join(migrations, name), "utf8"))
        .join("\n"),
    );
    wrangler(checkout, config, "d1", "execute", "DB", "--local", "--yes", "--file", file, "--persist-to", persistTo);
    rmSync(file);
  });
  cpSync(empty, folder, { recursive: true });
}
