/** Packages that are not installed, or that cannot run in a Worker: modules that throw when they are used. */
import { builtinModules } from "node:module";
import type { Plugin, ImportKind, BuildFailure } from "esbuild";
import { existsSync, readFileSync, realpathSync, readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Project } from "../project/project.ts";

// What the platform itself provides: Node's modules, Cloudflare's, and WebAssembly.

const BUILTINS = new Set(builtinModules.filter((name) => !name.startsWith("_")));

/** Modules of Node's that the platform does not have: missing.ts answers for them. */
export const ABSENT = /^node:(sea|quic|test\/reporters)$/;

/** Node.js modules that CommonJS code loads with `require`. */
const REQUIRED = "weir-required";

/**
 * Node's own modules win over npm packages of the same name, which are polyfills for browsers. A Worker has no `require`,
 * so what CommonJS code requires of them is imported.
 */
export function platform(): Plugin {
  return {
    name: "weir-platform",
    setup(build) {
      build.onResolve({ filter: /^(cloudflare|workerd):/ }, ({ path }) => ({ path, external: true }));
      build.onResolve({ filter: /^(node:)?[a-z_0-9]+(\/[a-z_0-9]+)?\/?$/ }, ({ path, kind }) => {
        const name = path.replace(/^node:/, "").replace(/\/$/, "");
        const builtin = `node:${name}`;
        if (ABSENT.test(builtin)) return undefined;
        if (!path.startsWith("node:") && !BUILTINS.has(name)) return undefined;
        return kind === "require-call" ? { path: builtin, namespace: REQUIRED } : { path: builtin, external: true };
      });
      build.onLoad({ filter: /.*/, namespace: REQUIRED }, ({ path }) => ({
        contents: `import required from ${JSON.stringify(path)};\nmodule.exports = required;`,
        loader: "js",
      }));
    },
  };
}

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

// `initChatModel` and agents with a model's name import its package by a computed name. A table answers them.

/** Packages of the scope that are no providers of models. */
const OTHERS =
  /^(core|langgraph.*|textsplitters|protocol|react|vue|svelte|angular|community|classic|standard-tests|mcp-adapters)$/;

/** The installed `@langchain/<provider>` packages, in the project's folder and those above it. */
export function installedProviders(root: string): string[] {
  const scope = join(root, "node_modules", "@langchain");
  const here = existsSync(scope)
    ? readdirSync(scope).filter((name) => !name.startsWith(".") && !OTHERS.test(name))
    : [];
  const above = dirname(root) === root ? [] : installedProviders(dirname(root));
  return [...new Set([...here.map((name) => `@langchain/${name}`), ...above])].sort();
}

/** A computed `import()` of the file becomes a look-up in the table. */
export function providers(project: Project): Plugin {
  return {
    name: "weir-providers",
    setup(build) {
      build.onResolve({ filter: /^weir:providers$/ }, ({ path }) => ({ path, namespace: "weir-providers" }));
      build.onLoad({ filter: /.*/, namespace: "weir-providers" }, () => ({
        contents: table(installedProviders(project.root)),
        resolveDir: project.root,
        loader: "js",
      }));
      build.onLoad({ filter: /[\\/]langchain[\\/]dist[\\/]chat_models[\\/]universal\.c?js$/ }, ({ path }) => ({
        contents: readFileSync(path, "utf8").replace(
          /\bimport\(\s*([A-Za-z_$][\w$.]*)\s*\)/g,
          'import("weir:providers").then(({ load }) => load($1))',
        ),
        loader: "js",
      }));
    },
  };
}

function table(names: string[]): string {
  const entries = names.map((name) => `  ${JSON.stringify(name)}: () => import(${JSON.stringify(name)}),`);
  return `const packages = {
${entries.join("\n")}
};
export function load(name) {
  if (Object.hasOwn(packages, name)) return packages[name]();
  return Promise.reject(new Error(\`"\${name}" is not installed. Add it to the project's dependencies and build again.\`));
}
`;
}

// Files of packages that do not fit the versions beside them: modules that throw when they are loaded.

/**
 * In Node a module that imports a name which is not there fails when it is loaded, and a module that is never loaded
 * does not matter: `langchain` has an `import()` of each provider, of which a project uses one. A bundler fails at
 * once.
 */
export class BrokenImports {
  /** By file, why it cannot be loaded. */
  readonly #files = new Map<string, string>();

  /**
   * Records the files of packages that a build failed for. False when it failed for something else too, or for these
   * again.
   */
  note({ errors }: BuildFailure, root: string): boolean {
    const before = this.#files.size;
    for (const { text, location } of errors) {
      if (!location?.file.includes("node_modules") || !text.startsWith("No matching export")) return false;
      this.#files.set(resolve(root, location.file), `${location.file}: ${text}`);
    }
    return this.#files.size > before;
  }

  /** Comes before plugins that load files of packages. */
  get plugin(): Plugin {
    return {
      name: "weir-broken",
      setup: (build) => {
        build.onLoad({ filter: /node_modules/ }, ({ path }) => {
          const why = this.#files.get(path);
          return why === undefined ? undefined : { contents: thrower(why), loader: "js" };
        });
      },
    };
  }
}
