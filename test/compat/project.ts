/** An ordinary project in a folder of its own, with its own copy of LangChain, as a Worker. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { join } from "node:path";
import { build, type Plugin } from "esbuild";
import { withMain } from "../support/server.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const CACHE = join(ROOT, "node_modules", ".cache", "weir-compat");

/** The folder of a project with these dependencies, installed. The same dependencies are installed once. */
export function installProject(name: string, dependencies: Record<string, string>): string {
  const dir = join(CACHE, name);
  const manifest = JSON.stringify({ name: "project", private: true, type: "module", dependencies });
  const file = join(dir, "package.json");
  if (existsSync(join(dir, "node_modules")) && readFileSync(file, "utf8") === manifest) return dir;
  mkdirSync(dir, { recursive: true });
  writeFileSync(file, manifest);
  const args = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock"];
  const { status, stderr } = spawnSync("npm", args, { cwd: dir, encoding: "utf8", timeout: 120_000 });
  if (status !== 0) throw new Error(`npm install failed in ${dir}.\n${stderr}`);
  return dir;
}

/** The configuration of a Worker that serves the exports of `graphs` with the project's own copy of LangChain. */
export async function bundleGraphs(dir: string, graphs: string): Promise<string> {
  const outfile = join(dir, "worker.js");
  await build({
    stdin: { contents: renderWorker(graphs), resolveDir: ROOT, loader: "ts" },
    outfile,
    bundle: true,
    format: "esm",
    target: "es2024",
    platform: "browser",
    mainFields: ["module", "main"],
    conditions: ["workerd", "worker", "module", "import"],
    external: ["cloudflare:*", "node:*", "xxhash-wasm", ...builtinModules],
    plugins: [resolveLangChain(dir)],
    keepNames: true,
    logLevel: "error",
  });
  return withMain(outfile, `compat-${dir.split("/").at(-1)}`);
}

/** The Worker that serves the exports of `file`. */
const renderWorker = (file: string): string => `
  import { createWeir } from "./src/index.ts";
  import * as exported from ${JSON.stringify(file)};
  export { Ledger, Limiter, Thread, ThreadIndex, TraceIndex, TracePartition } from "./src/index.ts";
  export default createWeir({ graphs: { ...exported } });
`;

/** Every `@langchain/*` is the project's: two copies of LangGraph in one Worker do not know each other's classes. */
const resolveLangChain = (dir: string): Plugin => ({
  name: "langchain",
  setup(bundle) {
    bundle.onResolve({ filter: /^@langchain\// }, async ({ path, kind, importer, pluginData }) => {
      if (pluginData === "resolved" || importer.startsWith(dir)) return undefined;
      const resolved = await bundle.resolve(path, { kind, resolveDir: dir, pluginData: "resolved" });
      // A part that this version does not have is imported on demand only.
      if (resolved.errors.length > 0 && kind === "dynamic-import") return { path, external: true };
      return resolved;
    });
  },
});
