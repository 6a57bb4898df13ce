/** The bundle in `.weir/build` as modules of workerd. */
import { createReadStream, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pathToFileURL } from "node:url";
import type { Request, Response as Answer } from "miniflare";
import { BUNDLE, PACKAGES, packagesFile } from "../bundle/files.ts";
import { posix } from "../paths.ts";
import type { Project } from "../project.ts";
import { Response } from "./miniflare.ts";

export interface Module {
  type: "ESModule" | "CompiledWasm" | "Data";
  path: string;
  contents: string | Uint8Array<ArrayBuffer>;
}

/** A bundle as it is served. */
export interface Modules {
  /** The folder of the bundle. */
  root: string;
  /** The file of the bundle, and what it exports. */
  bundle: string;
  exports: string[];
  /** Whether the packages are a module of their own. */
  isSplit: boolean;
  /** The file that answers for the module of packages. */
  packages: string;
  /** Files beside the bundle. */
  others: Module[];
}

export function readModules({ weirDir }: Project): Modules {
  const root = join(weirDir, "build");
  const bundle = join(root, BUNDLE);
  const others = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.m?js$/.test(entry.name))
    .map(({ parentPath, name }) => join(parentPath, name))
    .map((path): Module => {
      const type = path.endsWith(".wasm") ? "CompiledWasm" : "Data";
      return { type, path, contents: new Uint8Array(readFileSync(path)) };
    });
  // The entry for Wrangler has the names only.
  const [, names = ""] = /\{ (.*) \}/.exec(readFileSync(join(root, "worker.js"), "utf8")) ?? [];
  return {
    root,
    bundle,
    exports: names.split(", "),
    isSplit: readFileSync(bundle, "utf8").startsWith("import { load as "),
    packages: packagesFile(weirDir),
    others: others.toSorted((a, b) => (posix(root, a.path) < posix(root, b.path) ? -1 : 1)),
  };
}

/** Answers workerd, which requests each module that its configuration does not have: the bundle, by any number, and the packages. */
export function answerModule({ url }: Request, { root, bundle, packages }: Modules): Answer {
  const name = new URL(url).searchParams.get("specifier")?.replace(/^\//, "") ?? "";
  if (name === PACKAGES && existsSync(packages))
    return new Response(Readable.toWeb(createReadStream(packages)) as ConstructorParameters<typeof Response>[0]);
  if (!/^bundle(-\d+)?\.mjs$/.test(name)) return new Response(null, { status: 404 });
  const address = `\n//# sourceURL=${pathToFileURL(join(root, BUNDLE)).href}\n`;
  return new Response(JSON.stringify({ name, esModule: readFileSync(bundle, "utf8") + address }));
}
