/** Builds what the package ships besides the page: the runtime, its types, and the command line. */
import { copyFileSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build, type BuildOptions } from "esbuild";
import { platform } from "../src/cli/bundle/missing.ts";

const ROOT = join(import.meta.dirname, "..");
const DIST = join(ROOT, "dist");

const { dependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  dependencies: Record<string, string>;
};

const common: BuildOptions = {
  absWorkingDir: ROOT,
  bundle: true,
  format: "esm",
  logLevel: "warning",
  legalComments: "none",
};

/** All of the server is inside but the project's own LangChain, and WebAssembly, which is never in a JavaScript file. */
export async function buildPackage(): Promise<void> {
  rmSync(join(DIST, "cli"), { recursive: true, force: true });
  await Promise.all([
    build({
      ...common,
      entryPoints: ["src/index.ts"],
      outfile: "dist/index.js",
      target: "es2024",
      platform: "neutral",
      // As wrangler resolves them when it bundles this repository's Worker for the tests.
      mainFields: ["browser", "module", "main"],
      conditions: ["workerd", "worker", "browser"],
      // A project's bundler takes the WebAssembly of xxhash-wasm as a module of its own.
      external: ["@langchain/*", "xxhash-wasm"],
      plugins: [platform()],
      keepNames: true,
    }),
    // What a project's own code imports, in a Worker and in Node.
    build({
      ...common,
      entryPoints: [
        { in: "src/agents/models/workers-ai.ts", out: "workers-ai" },
        { in: "examples/demo/src/offline/model.ts", out: "offline-model" },
      ],
      outdir: "dist",
      target: "es2024",
      platform: "node",
      external: ["@langchain/*"],
    }),
    build({
      ...common,
      entryPoints: ["src/cli/main.ts"],
      outdir: "dist/cli",
      splitting: true,
      target: "node22",
      platform: "node",
      external: Object.keys(dependencies),
    }),
  ]);
  for (const file of readdirSync(join(ROOT, "types"))) copyFileSync(join(ROOT, "types", file), join(DIST, file));
}

if (process.argv[1] === import.meta.filename) await buildPackage();
