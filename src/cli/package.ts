/** Where the parts of this package are: the runtime, the page, the migrations and the base of every configuration. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The folder of the package's package.json. The commands run from src/cli in this repository, from dist/cli when installed. */
function rootOf(folder: string): string {
  if (existsSync(join(folder, "wrangler.toml")) && existsSync(join(folder, "package.json"))) return folder;
  if (dirname(folder) === folder)
    throw new Error("The package weir is incomplete: wrangler.toml is missing. Install it again.");
  return rootOf(dirname(folder));
}

export const PACKAGE = rootOf(import.meta.dirname);

const { version } = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8")) as { version: string };
export { version as VERSION };

/** Whether the commands run from the sources of this repository, where the runtime is bundled from its sources too. */
export const FROM_SOURCE: boolean = import.meta.filename.endsWith(".ts");

/** What `import "weir"` stands for in a worker. */
export const RUNTIME = FROM_SOURCE ? join(PACKAGE, "src", "weir.ts") : join(PACKAGE, "dist", "weir.js");
/** The command line's own file, for a process of its own. */
export const MAIN = FROM_SOURCE ? join(PACKAGE, "src", "cli", "main.ts") : join(PACKAGE, "dist", "cli", "main.js");
export const PAGE = join(PACKAGE, "dist", "web");
export const MIGRATIONS = join(PACKAGE, "migrations");
export const BASE_CONFIG = join(PACKAGE, "wrangler.toml");
