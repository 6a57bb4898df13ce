/** Where the parts of this package are: the runtime, the page, the migrations and the base of every configuration. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the package's package.json. The commands run from src/cli in this repository, from dist/cli when installed. */
function packageRoot(folder: string): string {
  if (existsSync(join(folder, "wrangler.toml")) && existsSync(join(folder, "package.json"))) return folder;
  if (dirname(folder) === folder)
    throw new Error("Weir's package is incomplete: wrangler.toml is missing. Install it again.");
  return packageRoot(dirname(folder));
}

// Old versions of Node, which are refused with a sentence, have no import.meta.dirname.
const FILE = fileURLToPath(import.meta.url);
export const PACKAGE = packageRoot(dirname(FILE));

const {
  name,
  version,
  engines,
  peerDependencies = {},
} = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8")) as {
  name: string;
  version: string;
  engines: { node: string };
  peerDependencies?: Record<string, string>;
};
export { name as NAME, version as VERSION, engines as ENGINES, peerDependencies as PEERS };

/** The name of the package in version 1.0.0. On npm it belongs to another project. */
export const FORMER_NAME = "weir";

/** Whether the commands run from the sources of this repository, where the runtime is bundled from its sources too. */
export const FROM_SOURCE: boolean = FILE.endsWith(".ts");

const module = (source: string, built: string) => join(PACKAGE, FROM_SOURCE ? source : built);

/** The package's modules by what a project's code imports. `exports` in package.json has the same. */
export const MODULES: Record<string, string> = {
  [name]: module("src/index.ts", "dist/index.js"),
  [`${name}/workers-ai`]: module("src/agents/models/workers-ai.ts", "dist/workers-ai.js"),
  [`${name}/offline-model`]: module("examples/demo/src/offline/model.ts", "dist/offline-model.js"),
};

/** The command line's own file, for a process of its own. */
export const MAIN = module("src/cli/main.ts", "dist/cli/main.js");
export const PAGE = join(PACKAGE, "dist", "web");
export const MIGRATIONS = join(PACKAGE, "migrations");
/** The names of the migrations in a folder, in their order. */
export const packagedMigrations = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".sql"))
    .sort();
export const BASE_CONFIG = join(PACKAGE, "wrangler.toml");
