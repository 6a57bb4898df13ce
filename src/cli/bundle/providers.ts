/** `initChatModel` and agents with a model's name import its package by a computed name. A table answers them. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Plugin } from "esbuild";
import type { Project } from "../project.ts";

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
