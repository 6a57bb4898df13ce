/** One copy of LangChain: the project's, for the runtime's imports and for those of every package. */
import { dirname, join } from "node:path";
import type { Plugin } from "esbuild";
import { MODULES, PACKAGE } from "../package.ts";
import type { Project } from "../project.ts";

/** Marks a resolution that this plugin asks for itself. */
const ASKED = Symbol("asked");

/**
 * `weir` and `weir/…` are modules of this package. Their imports of `@langchain/*` resolve from the project, so that a
 * message made by the runtime is an instance of the project's classes.
 */
export function oneLangchain(project: Project): Plugin {
  return {
    name: "weir-langchain",
    setup(build) {
      build.onResolve({ filter: /^weir(\/|$)/ }, ({ path }) => (MODULES[path] ? { path: MODULES[path] } : undefined));
      // The main file of its first version reads a test file of its own when it is imported.
      build.onResolve({ filter: /^pdf-parse$/ }, async ({ kind, resolveDir }) => {
        const found = await build.resolve("pdf-parse/lib/pdf-parse.js", { kind, resolveDir });
        return found.errors.length === 0 ? found : undefined;
      });
      build.onResolve({ filter: /^@langchain\// }, async ({ path, kind, importer, pluginData }) => {
        if (pluginData === ASKED || !isRuntime(importer)) return undefined;
        const ask = (resolveDir: string) => build.resolve(path, { kind, resolveDir, pluginData: ASKED });
        const found = await ask(project.root);
        if (found.errors.length === 0) return found;
        // With strict package managers only langgraph itself sees the packages that it needs.
        const langgraph = await build.resolve("@langchain/langgraph", {
          kind,
          resolveDir: project.root,
          pluginData: ASKED,
        });
        return langgraph.errors.length > 0 ? found : ask(dirname(langgraph.path));
      });
    },
  };
}

/** Whether the file is of this package: prebuilt, or a source of this repository. */
const isRuntime = (importer: string): boolean =>
  Object.values(MODULES).includes(importer) || importer.startsWith(join(PACKAGE, "src"));
