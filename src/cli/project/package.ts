/** Versions of the packages that a project has, and whether they are in a range. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

// Where the parts of this package are: the runtime, the page, the migrations and the base of every configuration.

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
export { name as NAME, version as VERSION, peerDependencies as PEERS };

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

/** The package.json of what the folder's modules import as `name`. Monorepos have it further up. */
function readManifest(folder: string, name: string): { version: string } | undefined {
  const file = join(folder, "node_modules", name, "package.json");
  if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8")) as { version: string };
  return dirname(folder) === folder ? undefined : readManifest(dirname(folder), name);
}

/** The version of `name` that the folder's modules import; undefined if it is not installed. */
export const installedVersion = (folder: string, name: string): string | undefined =>
  readManifest(folder, name)?.version;

/**
 * Whether a version is in a range of the kind that this package's own package.json has: comparators such as `>=1.2` and
 * `<2` that all hold, and `||` between such groups. A pre-release counts as its release.
 */
export function satisfies(version: string, range: string): boolean {
  return range.split("||").some((group) =>
    group
      .trim()
      .split(/\s+/)
      .every((comparator) => satisfiesComparator(version, comparator)),
  );
}

function satisfiesComparator(version: string, comparator: string): boolean {
  const [, operator, bound] = /^(>=|<|\^|~|)(\d.*)$/.exec(comparator) ?? [];
  if (bound === undefined) throw new Error(`"${comparator}" is no comparator of this package's ranges.`);
  if (operator === "<") return compareVersions(version, bound) < 0;
  if (operator === ">=") return compareVersions(version, bound) >= 0;
  const [major = 0, minor = 0] = parseVersion(bound);
  if (operator === "^")
    return (
      compareVersions(version, bound) >= 0 &&
      compareVersions(version, major > 0 ? `${major + 1}` : `0.${minor + 1}`) < 0
    );
  if (operator === "~")
    return compareVersions(version, bound) >= 0 && compareVersions(version, `${major}.${minor + 1}`) < 0;
  return compareVersions(version, bound) === 0;
}

const parseVersion = (version: string) => version.split(/[-+]/)[0]?.split(".").map(Number) ?? [];

/** Below 0 when `a` is the older version, above 0 when it is the newer one. */
function compareVersions(a: string, b: string): number {
  const [left, right] = [parseVersion(a), parseVersion(b)];
  const at = [0, 1, 2].find((index) => (left[index] ?? 0) !== (right[index] ?? 0));
  return at === undefined ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
}

/** What is wrong with the version of Node, and what to do; undefined when Weir runs on it. */
export const nodeFault = (version: string = process.versions.node): string | undefined =>
  satisfies(version, engines.node)
    ? undefined
    : `Weir needs Node ${engines.node}. This is Node ${version}. Install a newer one from https://nodejs.org.`;
