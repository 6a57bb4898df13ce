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

const {
  version,
  engines,
  peerDependencies = {},
} = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8")) as {
  version: string;
  engines: { node: string };
  peerDependencies?: Record<string, string>;
};
export { version as VERSION, engines as ENGINES, peerDependencies as PEERS };

/** Whether the commands run from the sources of this repository, where the runtime is bundled from its sources too. */
export const FROM_SOURCE: boolean = import.meta.filename.endsWith(".ts");

const module = (source: string, built: string) => join(PACKAGE, FROM_SOURCE ? source : built);

/** The module that `import "weir"` resolves to in a worker. */
export const RUNTIME = module("src/weir.ts", "dist/weir.js");

/** The package's modules by what a project's code imports. `exports` in package.json has the same. */
export const MODULES: Record<string, string> = {
  weir: RUNTIME,
  "weir/workers-ai": module("src/models/workers-ai.ts", "dist/workers-ai.js"),
  "weir/offline-model": module("examples/demo/src/offline/model.ts", "dist/offline-model.js"),
};

/** The command line's own file, for a process of its own. */
export const MAIN = module("src/cli/main.ts", "dist/cli/main.js");
export const PAGE = join(PACKAGE, "dist", "web");
export const MIGRATIONS = join(PACKAGE, "migrations");
export const BASE_CONFIG = join(PACKAGE, "wrangler.toml");
