/** The first of two phases of bundling: the project and the runtime into one module. Wrangler bundles the rest. */
import { dirname, join } from "node:path";
import { build, type BuildFailure, formatMessages } from "esbuild";
import { Fault } from "../fault.ts";
import { FROM_SOURCE } from "../package.ts";
import type { Project } from "../project.ts";
import { oneLangchain } from "./langchain.ts";
import { platform } from "./platform.ts";

export interface Bundled {
  code: Uint8Array;
  map: Uint8Array;
  /** Absolute paths of the files that the bundle is made from, without those in node_modules. */
  inputs: string[];
  warnings: string[];
}

/** Bundles `.weir/worker.ts`. Throws a Fault with file, line and code frame for each error. */
export async function bundle(project: Project): Promise<Bundled> {
  const outfile = join(project.weirDir, "build", "worker.js");
  const result = await build({
    entryPoints: [join(project.weirDir, "worker.ts")],
    outfile,
    absWorkingDir: project.root,
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    target: "es2024",
    platform: "neutral",
    // `browser` empties packages such as the AWS SDK of what runs here.
    mainFields: ["module", "main"],
    conditions: ["workerd", "worker", "node", "import", "module", "default"],
    keepNames: true,
    sourcemap: "linked",
    sourcesContent: !FROM_SOURCE,
    logLevel: "silent",
    plugins: [oneLangchain(project), platform()],
  }).catch(async (error: unknown) => {
    throw new Fault(await described(error as BuildFailure));
  });
  const file = (end: string) => result.outputFiles.find(({ path }) => path.endsWith(end))?.contents ?? new Uint8Array();
  const inputs = Object.keys(result.metafile.inputs)
    .filter((path) => !path.includes("node_modules/") && !/^[\w-]{2,}:/.test(path))
    .map((path) => join(project.root, path))
    .filter((path) => dirname(path) !== project.weirDir);
  const warnings = await formatMessages(result.warnings, { kind: "warning" });
  return { code: file(".js"), map: file(".js.map"), inputs, warnings };
}

async function described(error: BuildFailure): Promise<string> {
  if (!Array.isArray(error.errors)) throw error;
  return (await formatMessages(error.errors, { kind: "error" })).join("\n").trimEnd();
}
