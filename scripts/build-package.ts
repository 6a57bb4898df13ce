/** Builds what the package `weir` ships besides the page: the runtime, its types, and the command line. */
import { copyFileSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build, type BuildOptions } from "esbuild";
import { platform } from "../src/cli/bundle/platform.ts";

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

/** Everything but the project's own LangChain is inside, so a project installs none of the server's dependencies. */
export async function buildPackage(): Promise<void> {
  rmSync(join(DIST, "cli"), { recursive: true, force: true });
  await Promise.all([
    build({
      ...common,
      entryPoints: ["src/weir.ts"],
      outfile: "dist/weir.js",
      target: "es2024",
      platform: "neutral",
      // As wrangler resolves them when it bundles this repository's Worker for the tests.
      mainFields: ["browser", "module", "main"],
      conditions: ["workerd", "worker", "browser"],
      external: ["@langchain/*"],
      plugins: [platform()],
      keepNames: true,
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
  copyFileSync(join(ROOT, "types", "weir.d.ts"), join(DIST, "weir.d.ts"));
}

if (process.argv[1] === import.meta.filename) await buildPackage();
