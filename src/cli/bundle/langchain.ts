/** One copy of LangChain: the project's, for the runtime's imports and for those of every package. */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Plugin } from "esbuild";
import { MODULES, NAME, PACKAGE } from "../project/package.ts";
import type { Project } from "../project/project.ts";

/** Marks a resolution that this plugin requests itself. */
const ASKED = Symbol("asked");

/** What a project's code imports of this package. */
const OWN = new RegExp(`^${NAME}(/|$)`);

/** The modules that the project's version of LangChain does not have. */
const ABSENT = "weir-absent";

/**
 * The package's name and what is below it are modules of this package. Their imports of `@langchain/*` resolve from the project,
 * so that a message made by the runtime is an instance of the project's classes.
 */
export function oneLangchain(project: Project): Plugin {
  return {
    name: "weir-langchain",
    setup(build) {
      build.onStart(() => ({ errors: tooOld(project.root).map((text) => ({ text })) }));
      build.onResolve({ filter: OWN }, ({ path }) => {
        const found = MODULES[path];
        return found ? { path: found } : undefined;
      });
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
        // With strict package managers, only langgraph itself can resolve the packages that it needs.
        const langgraph = await build.resolve("@langchain/langgraph", {
          kind,
          resolveDir: project.root,
          pluginData: ASKED,
        });
        const own = langgraph.errors.length > 0 ? found : await ask(dirname(langgraph.path));
        // The runtime imports on demand what older versions do not have, and runs without it.
        return own.errors.length > 0 && kind === "dynamic-import" ? { path, namespace: ABSENT } : own;
      });
      build.onLoad({ filter: /.*/, namespace: ABSENT }, ({ path }) => ({
        contents: `throw new Error(${JSON.stringify(`This version of LangChain has no ${path}.`)});`,
        loader: "js",
      }));
    },
  };
}

/** The lowest version of LangGraph that the runtime drives: the peer range of package.json has it too. */
const LOWEST = [0, 2, 57];

/** A sentence if the project's LangGraph is older than that. What is not installed is found by the bundler. */
export function tooOld(root: string): string[] {
  let version: string;
  try {
    const require = createRequire(join(root, "package.json"));
    ({ version } = require("@langchain/langgraph/package.json") as { version: string });
  } catch {
    return [];
  }
  const given = version.split(/[.-]/).map(Number);
  const at = LOWEST.findIndex((part, i) => part !== given[i]);
  if (at === -1 || (given[at] ?? 0) > (LOWEST[at] ?? 0)) return [];
  const lowest = LOWEST.join(".");
  return [
    `LangGraph ${version} is installed. Weir needs ${lowest} or newer: npm install @langchain/langgraph@^${lowest}`,
  ];
}

/** Whether the file is of this package: prebuilt, or a source of this repository. */
const isRuntime = (importer: string): boolean =>
  Object.values(MODULES).includes(importer) || importer.startsWith(join(PACKAGE, "src"));
