/** The first of two phases of bundling: the project and the runtime into one module. Wrangler bundles the rest. */
import { dirname, join } from "node:path";
import { type BuildFailure, context, formatMessages, type Plugin } from "esbuild";
import { Fault } from "../fault.ts";
import type { Project } from "../project.ts";
import { oneLangchain } from "./langchain.ts";
import { platform } from "./platform.ts";

export interface Bundled {
  code: Uint8Array;
  map: Uint8Array;
  warnings: string[];
}

/** Bundles `.weir/worker.ts`, again and again as files change. */
export interface Bundler {
  /** Throws a Fault with file, line and code frame for each error. */
  bundle(): Promise<Bundled>;
  /** The project's files that the last bundle was made from, also of one that failed. */
  readonly inputs: string[];
  dispose(): Promise<void>;
}

export async function bundler(project: Project): Promise<Bundler> {
  const inputs = new Set<string>();
  const made = await context({
    entryPoints: [join(project.weirDir, "worker.ts")],
    outfile: join(project.weirDir, "build", "worker.js"),
    absWorkingDir: project.root,
    bundle: true,
    write: false,
    format: "esm",
    target: "es2024",
    platform: "neutral",
    // `browser` empties packages such as the AWS SDK of what runs here.
    mainFields: ["module", "main"],
    conditions: ["workerd", "worker", "node", "import", "module", "default"],
    keepNames: true,
    sourcemap: "linked",
    sourcesContent: false,
    logLevel: "silent",
    plugins: [noted(project, inputs), oneLangchain(project), platform()],
  });
  return {
    get inputs() {
      return [...inputs];
    },
    async bundle() {
      const before = [...inputs];
      inputs.clear();
      const result = await made.rebuild().catch(async (error: unknown) => {
        // What an earlier file imported is not looked at again, and may be what mends it.
        for (const input of before) inputs.add(input);
        throw new Fault(await described(error as BuildFailure));
      });
      const file = (end: string) =>
        result.outputFiles?.find(({ path }) => path.endsWith(end))?.contents ?? new Uint8Array();
      const warnings = await formatMessages(result.warnings, { kind: "warning" });
      return { code: file(".js"), map: file(".js.map"), warnings };
    },
    dispose: () => made.dispose(),
  };
}

/** Notes which files of the project are read. */
function noted({ weirDir }: Project, inputs: Set<string>): Plugin {
  return {
    name: "weir-inputs",
    setup(build) {
      build.onLoad({ filter: /.*/ }, ({ path }) => {
        if (!path.includes("node_modules") && dirname(path) !== weirDir) inputs.add(path);
        return undefined;
      });
    },
  };
}

async function described(error: BuildFailure): Promise<string> {
  if (!Array.isArray(error.errors)) throw error;
  return (await formatMessages(error.errors, { kind: "error" })).join("\n").trimEnd();
}
