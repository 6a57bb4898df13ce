/** The code of the previous release beside this one, and a server of either on a folder of state. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LocalServer, localConfig, serve } from "../../scripts/local-server.ts";
import { quietPort } from "../support/ports.ts";
import { WRANGLER_CLI, wranglerEnv } from "../../src/cli/wrangler.ts";
import { SECRETS } from "../support/server.ts";
import release from "./release.json" with { type: "json" };

const ROOT = join(import.meta.dirname, "..", "..");
const VARS = { ...SECRETS, ALLOW_PRIVATE_ADDRESSES: "true", OFFLINE_MODEL_DELAY_MS: "20" };

/** A version of the code: its folder, and the Wrangler configuration for this machine. */
export interface Version {
  folder: string;
  config: string;
}

export const CURRENT: Version = { folder: ROOT, config: localConfig() };

/** The files of the previous release in a folder of their own, with the packages of this one. A clone may lack its tag. */
export function checkOutRelease(): Version {
  const { tag, commit } = release;
  const isTagged =
    spawnSync("git", ["rev-parse", "--verify", "--quiet", `${tag}^{commit}`], { cwd: ROOT }).status === 0;
  const folder = mkdtempSync(join(tmpdir(), "weir-release-"));
  const archive = spawnSync("git", ["archive", isTagged ? tag : commit], { cwd: ROOT, maxBuffer: 1024 ** 3 });
  if (archive.status !== 0)
    throw new Error(
      `Neither ${tag} nor ${commit} is in this clone: git fetch --unshallow --tags.\n${archive.stderr.toString()}`,
    );
  execFileSync("tar", ["-xf", "-", "-C", folder], { input: archive.stdout });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  // Wrangler refuses to start without the folder of the page, and hides other secrets where some are required.
  mkdirSync(join(folder, "dist", "web"), { recursive: true });
  const config = join(folder, "wrangler.local.toml");
  const deployed = readFileSync(join(folder, "wrangler.toml"), "utf8");
  writeFileSync(config, deployed.replace(/^\[secrets\]\n[^[]+\[[^\]]*\]\n/m, ""));
  return { folder, config };
}

/** The formats of what a version's objects store, by kind (src/lib/object-tables.ts). */
export function readFormats({ folder }: Version): Record<string, number> {
  const source = readFileSync(join(folder, "src", "lib", "object-tables.ts"), "utf8");
  const [, formats = ""] = /FORMATS = \{([^}]*)\}/.exec(source) ?? [];
  return Object.fromEntries([...formats.matchAll(/(\w+): (\d+)/g)].map(([, kind, format]) => [kind, Number(format)]));
}

/** Applies the version's D1 migrations that the state lacks, as a deployment does and a rollback does not. */
export function migrateState({ folder, config }: Version, state: string): void {
  const where = ["--local", "--config", config, "--persist-to", state];
  const args = [WRANGLER_CLI, "d1", "migrations", "apply", "DB", ...where];
  execFileSync(process.execPath, args, { cwd: folder, env: { ...wranglerEnv(), CI: "true" }, stdio: "pipe" });
}

export async function serveState({ config }: Version, state: string): Promise<LocalServer> {
  const envFile = join(state, "secrets.env");
  writeFileSync(
    envFile,
    Object.entries(VARS)
      .map(([name, value]) => `${name}="${value}"`)
      .join("\n"),
  );
  return serve({ port: await quietPort(), persistTo: state, envFile, config, group: "own" });
}
