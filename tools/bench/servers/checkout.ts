/** What a plain server starts from: the bundle of a checkout, and a state with its database. This process makes each once. */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { wranglerEnv } from "../../../src/cli/wrangler.ts";

const made = new Map<string, Promise<string>>();

/** A temporary folder that `fill` fills when it is needed first. It goes with this process. */
function makeOnce(key: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const make = async () => {
    const folder = mkdtempSync(join(tmpdir(), "weir-bench-"));
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
    await fill(folder);
    return folder;
  };
  const making = made.get(key) ?? make();
  made.set(key, making);
  return making;
}

async function wrangler(checkout: string, config: string, ...args: string[]): Promise<void> {
  const script = join(checkout, "node_modules", "wrangler", "bin", "wrangler.js");
  const options = { cwd: checkout, env: wranglerEnv() };
  await promisify(execFile)(process.execPath, [script, ...args, "--config", config], options);
}

/** The entry of the bundle that `wrangler deploy` makes. Its other modules are beside it. */
export async function bundleCheckout(checkout: string, config: string): Promise<string> {
  // Wrangler refuses to build without the folder of the page.
  mkdirSync(join(checkout, "dist", "web"), { recursive: true });
  const folder = await makeOnce(config, async (outdir) =>
    wrangler(checkout, config, "deploy", "--dry-run", "--outdir", outdir),
  );
  return join(folder, readdirSync(folder).find((name) => name.endsWith(".js")) ?? "");
}

/**
 * Writes a state without data into `folder`. All configurations of a checkout have the same database. Wrangler takes a second
 * for each migration, so they are one file here, as for `weir dev`.
 */
export async function copyEmptyState(checkout: string, config: string, folder: string): Promise<void> {
  const migrations = join(checkout, "migrations");
  const empty = await makeOnce(checkout, async (persistTo) => {
    const names = readdirSync(migrations).filter((name) => name.endsWith(".sql"));
    const file = join(persistTo, "schema.sql");
    const statements = names.toSorted().map((name) => readFileSync(join(migrations, name), "utf8"));
    writeFileSync(file, statements.join("\n"));
    const where = ["--local", "--yes", "--file", file, "--persist-to", persistTo];
    await wrangler(checkout, config, "d1", "execute", "DB", ...where);
    rmSync(file);
  });
  cpSync(empty, folder, { recursive: true });
}
