/**
 * Files that the project reads while it runs. The platform shows a Worker's modules as files under /bundle, which is also
 * its working folder. So a file that the code names is made a module, and each source has its own path there.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createHash } from "node:crypto";
import { basename, dirname, extname, join, relative, resolve, sep } from "node:path";
import type { Loader, Plugin } from "esbuild";
import { PACKAGE } from "../package.ts";
import type { Project } from "../project.ts";

/** Kinds of files that are read as text or bytes. wrangler takes modules by these endings. */
const ENDINGS = [
  "csv",
  "graphql",
  "hbs",
  "html",
  "json",
  "jsonl",
  "md",
  "mustache",
  "pdf",
  "prompt",
  "sql",
  "tmpl",
  "txt",
  "xml",
  "yaml",
  "yml",
];

/** The bundle's file. The entry beside it only exports what this one does. */
export const BUNDLE = "bundle.mjs";

/** The module of packages that `weir dev` has beside the bundle, as the bundle imports it. */
export const PACKAGES = "packages.mjs";

/** That module as the answer to workerd, which requests it by its name. */
export const packagesFile = (weirDir: string): string => join(weirDir, "packages", "module.json");

/** For wrangler: which files beside the entry are modules, and of which kind. */
export const MODULE_RULES = [
  { type: "ESModule", globs: [BUNDLE], fallthrough: true },
  { type: "Data", globs: ENDINGS.map((ending) => `**/*.${ending}`), fallthrough: true },
  { type: "CompiledWasm", globs: ["**/*.wasm"], fallthrough: true },
];

const LARGEST = 5 * 1024 ** 2;
const LITERAL = new RegExp(`["'\`]([^"'\`\\n]+\\.(?:${ENDINGS.join("|")}))["'\`]`, "g");
/** A file whose name is computed, in a folder that is named. */
const COMPUTED = /new URL\(\s*`(\.{1,2}\/[^`$\n]*\/)\$\{/g;
const LOADERS: Record<string, Loader> = { ".ts": "ts", ".mts": "ts", ".cts": "ts", ".tsx": "tsx", ".jsx": "jsx" };

/** This repository's sources, which the runtime is bundled from where they are there. */
const OWN = join(PACKAGE, "src") + sep;

/** A path of the project as it is under /bundle. A folder above the project's is one named `_`. */
const virtualPath = (root: string, path: string): string =>
  relative(root, path).replaceAll("\\", "/").replaceAll("../", "_/");

/** Adds each file of the project that is read to `inputs`, and the files beside the bundle to `modules`. */
export function files({ root, weirDir }: Project, modules: Map<string, Uint8Array>, inputs: Set<string>): Plugin {
  return {
    name: "weir-files",
    setup(build) {
      build.onLoad({ filter: /\.[cm]?[jt]sx?$/ }, ({ path }) => {
        if (path.includes("node_modules") || dirname(path) === weirDir) return undefined;
        inputs.add(path);
        if (path.startsWith(OWN)) return undefined;
        const text = readFileSync(path, "utf8");
        for (const [, name = ""] of text.matchAll(LITERAL))
          for (const file of new Set([resolve(dirname(path), name), resolve(root, name)]))
            if (existsSync(file) && statSync(file).size <= LARGEST) {
              inputs.add(file);
              modules.set(virtualPath(root, file), readFileSync(file));
            }
        for (const [, name = ""] of text.matchAll(COMPUTED))
          for (const file of listReadable(resolve(dirname(path), name))) {
            inputs.add(file);
            modules.set(virtualPath(root, file), readFileSync(file));
          }
        if (!/import\.meta|__dirname|__filename/.test(text)) return undefined;
        const contents = replaceImportUrls(text, `/bundle/${virtualPath(root, path)}`);
        return { contents, loader: LOADERS[extname(path)] ?? (extname(path) === ".js" ? "jsx" : "js") };
      });
      build.onResolve({ filter: /\.wasm(\?module)?$/ }, async ({ path, resolveDir, kind, pluginData }) => {
        if (pluginData === "asked") return undefined;
        const bare = path.replace(/\?module$/, "");
        const found = await build.resolve(bare, { resolveDir, kind, pluginData: "asked" });
        if (found.errors.length > 0) return undefined;
        const content = readFileSync(found.path);
        if (!found.path.includes("node_modules")) inputs.add(found.path);
        const name = `wasm/${createHash("sha256").update(content).digest("hex").slice(0, 8)}-${basename(found.path)}`;
        modules.set(name, content);
        return { path: `./${name}`, external: true };
      });
    },
  };
}

/** The files of a folder that a project may read. */
function listReadable(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => ENDINGS.includes(extname(name).slice(1)))
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).size <= LARGEST);
}

/** The source with `import.meta.url` and its equivalents replaced by the file's address. */
function replaceImportUrls(text: string, path: string): string {
  const folder = JSON.stringify(dirname(path));
  return text
    .replace(/\bimport\.meta\.url\b/g, JSON.stringify(`file://${path}`))
    .replace(/\bimport\.meta\.dirname\b/g, folder)
    .replace(/\bimport\.meta\.filename\b/g, JSON.stringify(path))
    .replace(/(?<![\w$.])__dirname\b(?!\s*=[^=])/g, folder)
    .replace(/(?<![\w$.])__filename\b(?!\s*=[^=])/g, JSON.stringify(path));
}

/** The same for packages, which do not read files of their own here: constant, so that using them does not throw. */
export const DEFINES = {
  "import.meta.url": '"file:///bundle/worker.js"',
  "import.meta.dirname": '"/bundle"',
  "import.meta.filename": '"/bundle/worker.js"',
  __dirname: '"/bundle"',
  __filename: '"/bundle/worker.js"',
};
