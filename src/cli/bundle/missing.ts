/** Packages that are not installed, or that cannot run in a Worker: modules that throw when they are used. */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ImportKind, Plugin } from "esbuild";
import { ABSENT } from "./platform.ts";

const ASKED = Symbol("asked");

/** Packages of native code, or that start processes or browsers. */
const NATIVE = new Set([
  "@napi-rs/canvas",
  "@xenova/transformers",
  "better-sqlite3",
  "canvas",
  "chromadb-default-embed",
  "duckdb",
  "faiss-node",
  "fsevents",
  "hnswlib-node",
  "onnxruntime-node",
  "playwright",
  "playwright-core",
  "puppeteer",
  "sharp",
  "sqlite3",
  "usearch",
]);

const packageName = (path: string): string => path.split("/", path.startsWith("@") ? 2 : 1).join("/");

/**
 * An import that cannot be resolved fails the build where the project's own code has it. Where a package has it, it is
 * optional there: `require` and `import()` of it throw, and a static import throws when something of it is used. The
 * same holds for all imports of packages that cannot run in a Worker. `warn` receives a sentence for each of those.
 */
export function stubMissing(warn: (text: string, importer: string) => void): Plugin {
  return {
    name: "weir-missing",
    setup(build) {
      build.onResolve({ filter: /^[^./]/ }, async ({ path, importer, kind, resolveDir, pluginData }) => {
        if (pluginData === ASKED || kind === "entry-point" || importer === "") return undefined;
        const stub = (why: string) => ({ path, namespace: `weir-missing-${failureMoment(kind)}`, pluginData: why });
        if (NATIVE.has(packageName(path)) || ABSENT.test(path)) {
          const why = `"${packageName(path)}" cannot run in a Worker: it needs native code or processes.`;
          if (!importer.includes("node_modules")) warn(why, importer);
          return stub(why);
        }
        const found = await build.resolve(path, { kind, importer, resolveDir, pluginData: ASKED });
        if (found.errors.length === 0) return found;
        const source = findUnbuilt(path, resolveDir);
        if (source) return { path: source };
        if (!importer.includes("node_modules")) return undefined;
        return stub(`"${packageName(path)}" is not installed. ${importer.split("node_modules/").at(-1)} imports it.`);
      });
      build.onLoad({ filter: /\.node$/ }, ({ path }) => {
        const name = packageName(path.split("node_modules/").at(-1) ?? path);
        return { contents: thrower(`"${name}" cannot run in a Worker: it is native code.`), loader: "js" };
      });
      build.onLoad({ filter: /.*/, namespace: "weir-missing-load" }, ({ pluginData }) => ({
        contents: thrower(pluginData as string),
        loader: "js",
      }));
      build.onLoad({ filter: /.*/, namespace: "weir-missing-use" }, ({ pluginData }) => ({
        contents: throwsWhenUsed(pluginData as string),
        loader: "js",
      }));
    },
  };
}

/** Code that loads a module at run time can catch the error and continue without it; a static import cannot. */
const failureMoment = (kind: ImportKind): "load" | "use" => (kind === "import-statement" ? "use" : "load");

/** A module that throws when it is loaded. It is CommonJS, so that it has every export that is imported by name. */
export const thrower = (why: string): string =>
  `throw Object.assign(new Error(${JSON.stringify(why)}), { code: "MODULE_NOT_FOUND" });`;

/** A CommonJS module, so that it has every export that is imported by name. */
const throwsWhenUsed = (why: string): string => `
const fail = () => { ${thrower(why)} };
const quiet = new Set(["__esModule", "default", "then", "prototype", "name", "length"]);
const used = new Proxy(function () {}, {
  get: (target, key) => (key === "default" ? used : typeof key === "symbol" || quiet.has(key) ? target[key] : fail()),
  getPrototypeOf: () => used,
  apply: fail,
  construct: fail,
});
module.exports = used;
`;

/** The source of a package of the same monorepo whose build output is not there; undefined when it is no such package. */
function findUnbuilt(path: string, from: string): string | undefined {
  const name = packageName(path);
  for (let folder = from; ; folder = dirname(folder)) {
    const file = join(folder, "node_modules", name, "package.json");
    if (existsSync(file)) {
      const root = dirname(realpathSync(file));
      return root.includes("node_modules") ? undefined : sourceIn(root, path.slice(name.length + 1), file);
    }
    if (dirname(folder) === folder) return undefined;
  }
}

function sourceIn(root: string, rest: string, file: string): string | undefined {
  const { main, module } = JSON.parse(readFileSync(file, "utf8")) as { main?: string; module?: string };
  const built = rest || module || main || "index";
  const bare = built
    .replace(/^\.\//, "")
    .replace(/^(dist|build|lib|out)\//, "")
    .replace(/\.[cm]?jsx?$/, "");
  const ends = [".ts", ".tsx", "/index.ts", "/index.tsx", ".js"];
  return ["src", "."].flatMap((folder) => ends.map((end) => join(root, folder, bare + end))).find(existsSync);
}
