/** Bundles the project and the runtime into one module, which wrangler serves and deploys as it is. */
import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import {
  type BuildContext,
  type BuildFailure,
  type BuildOptions,
  type BuildResult,
  type Metafile,
  type Plugin,
  context,
  formatMessages,
} from "esbuild";
import { Fault } from "../fault.ts";
import { splitSpec } from "../project/langgraph-json.ts";
import type { Project } from "../project.ts";
import { Broken } from "./broken.ts";
import { DEFINES, files } from "./files.ts";
import { oneLangchain } from "./langchain.ts";
import { stubMissing } from "./missing.ts";
import { platform } from "./platform.ts";
import { providers } from "./providers.ts";
import { ui } from "./ui.ts";

export interface Bundled {
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
export type Output = BuildResult<{ write: false; metafile: true }>;

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
  bundle(): Promise<Bundled>;
  /** The project's files that the last bundle was made from, also of one that failed. */
  readonly inputs: string[];
  dispose(): Promise<void>;
}

/** How packages are left out of a bundle: the code before it, and the plugin that puts a stand-in for each of their files. */
export interface Split {
  banner: string;
  plugin: Plugin;
}

/** A bundler of everything, or of what a split leaves. */
export async function bundler(project: Project, split?: Split): Promise<Bundler> {
  const inputs = new Set<string>();
  const modules = new Map<string, Uint8Array>();
  const unusable = new Map<string, string>();
  const broken = new Broken();
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
  const rebuild = async (): Promise<Output> => {
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
        throw new Fault(await describeFailure(error as BuildFailure));
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
    const { file } = splitSpec(typeof graph === "string" ? graph : graph.path);
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
