/** Bundles the project and the runtime into one module, which wrangler serves and deploys as it is. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createHash } from "node:crypto";
import { basename, dirname, extname, join, relative, resolve, sep } from "node:path";
import {
  type Loader,
  type Plugin,
  type BuildContext,
  type BuildFailure,
  type BuildOptions,
  type BuildResult,
  type Metafile,
  context,
  formatMessages,
} from "esbuild";
import { PACKAGE } from "../project/package.ts";
import type { Project } from "../project/project.ts";
import { CliFault } from "../console.ts";
import { splitCodeSpec } from "../project/langgraph-json.ts";
import { BrokenImports, stubMissing, platform, providers } from "./missing.ts";
import { oneLangchain } from "./langchain.ts";
import { ui } from "./ui.ts";

// Files that the project reads while it runs. The platform shows a Worker's modules as files under /bundle, which is also
// its working folder. So a file that the code names is made a module, and each source has its own path there.

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

export interface Bundle {
  code: Uint8Array;
  map: Uint8Array;
  /** The names that the module exports, `default` included. */
  exports: string[];
  /** Every file that the bundle was made from, those of packages included. */
  sources: string[];
  /** Files beside the bundle that are modules too, by their path from its folder. */
  modules: Map<string, Uint8Array>;
  warnings: string[];
}

/** What each build gives that is written by Weir. */
export type BuildOutput = BuildResult<{ write: false; metafile: true }>;

/** Of each bundle: how it is resolved, and what it may use. */
export const COMMON = {
  bundle: true,
  write: false,
  metafile: true,
  format: "esm",
  target: "es2024",
  platform: "neutral",
  // `browser` empties packages such as the AWS SDK of what runs here.
  mainFields: ["module", "main"],
  conditions: ["workerd", "worker", "node", "import", "module", "default"],
  define: DEFINES,
  keepNames: true,
  sourcemap: "external",
  logLevel: "silent",
} satisfies BuildOptions;

/** Bundles `.weir/worker.ts`, again and again as files change. */
export interface Bundler {
  /** Throws a Fault with file, line and code frame for each error. */
  bundle(): Promise<Bundle>;
  /** The project's files that the last bundle was made from, also of one that failed. */
  readonly inputs: string[];
  dispose(): Promise<void>;
}

/** How packages are left out of a bundle: the code before it, and the plugin that puts a stand-in for each of their files. */
export interface PackageSplit {
  banner: string;
  plugin: Plugin;
}

/** A bundler of everything, or of what a split leaves. */
export async function bundler(project: Project, split?: PackageSplit): Promise<Bundler> {
  const inputs = new Set<string>();
  const modules = new Map<string, Uint8Array>();
  const unusable = new Map<string, string>();
  const broken = new BrokenImports();
  const { root, weirDir } = project;
  const made: BuildContext<typeof COMMON> = await context({
    ...COMMON,
    entryPoints: [join(weirDir, "worker.ts")],
    outfile: join(weirDir, "worker.js"),
    absWorkingDir: root,
    // The module is written to `build`, beside its imports.
    footer: { js: "//# sourceMappingURL=../worker.js.map" },
    banner: split && { js: split.banner },
    plugins: [
      ...(split ? [split.plugin] : []),
      broken.plugin,
      ui(project, inputs),
      files(project, modules, inputs),
      providers(project),
      oneLangchain(project),
      platform(),
      stubMissing((text, importer) => unusable.set(importer, text)),
    ],
  });
  /** Repeats the build while it finds more files of packages that do not fit. */
  const rebuild = async (): Promise<BuildOutput> => {
    for (const noted of [inputs, modules, unusable]) noted.clear();
    try {
      return await made.rebuild();
    } catch (error) {
      if (!broken.note(error as BuildFailure, root)) throw error;
      return rebuild();
    }
  };
  return {
    get inputs() {
      return [...inputs];
    },
    async bundle() {
      const before = [...inputs];
      const result = await rebuild().catch(async (error: unknown) => {
        // esbuild does not read the imports of a failed file, and the fix may be in one of them.
        for (const input of before) inputs.add(input);
        throw new CliFault(await describeFailure(error as BuildFailure));
      });
      const file = (end: string) =>
        result.outputFiles.find(({ path }) => path.endsWith(end))?.contents ?? new Uint8Array();
      const warnings = await formatMessages(
        result.warnings.filter(({ location }) => !location?.file.includes("node_modules")),
        { kind: "warning" },
      );
      for (const [importer, text] of unusable) {
        const graphs = describeGraphs(project, findImporters(result.metafile, relative(root, importer)));
        warnings.push(`${relative(root, importer)}: ${text}${graphs}`);
      }
      // A module that a plugin makes has a name that is no path.
      const sources = [...Object.keys(result.metafile.inputs).map((path) => resolve(root, path)), ...inputs];
      return {
        code: file(".js"),
        map: file(".js.map"),
        exports: Object.values(result.metafile.outputs).flatMap((output) => output.exports),
        sources: [...new Set(sources)].filter((path) => existsSync(path)),
        modules: new Map(modules),
        warnings,
      };
    },
    dispose: () => made.dispose(),
  };
}

/** Which graphs load one of these files, as a sentence. */
function describeGraphs({ root, config }: Project, importers: Set<string>): string {
  const graphs = Object.entries(config.graphs).filter(([, graph]) => {
    const { file } = splitCodeSpec(typeof graph === "string" ? graph : graph.path);
    return importers.has(relative(root, resolve(root, file)).replaceAll("\\", "/"));
  });
  const names = graphs.map(([id]) => `"${id}"`);
  return names.length === 0 ? "" : ` ${names.length === 1 ? "Graph" : "Graphs"} ${names.join(", ")} cannot use it.`;
}

async function describeFailure(error: BuildFailure): Promise<string> {
  if (!Array.isArray(error.errors)) throw error;
  return (await formatMessages(error.errors, { kind: "error" })).join("\n").trimEnd();
}

/** The files that import this one, directly or through others, and the file itself. Paths as the bundle's record has them. */
function findImporters({ inputs }: Metafile, path: string): Set<string> {
  const found = new Set([path]);
  // A set that grows while it is walked is walked to its new end.
  for (const target of found)
    for (const [importer, { imports }] of Object.entries(inputs))
      if (imports.some((one) => one.path === target)) found.add(importer);
  return found;
}
