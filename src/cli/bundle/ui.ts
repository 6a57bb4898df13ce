/**
 * Components of generative UI: an import that ends with `?ui=<name>` is a bundle for browsers, as its files by name. A page
 * loads it with `LoadExternalComponent` of @langchain/langgraph-sdk/react-ui, which gives it the page's own React.
 */
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type BuildFailure, type Loader, type Plugin } from "esbuild";
import { globalName } from "../../protocols/ui/global-name.ts";
import type { Project } from "../project/project.ts";

const ASKED = /\?ui=(.*)$/;
const NAMESPACE = "weir-ui";

/** Modules that the page provides, with their subpaths. */
const SHARED = ["react", "react-dom", "@langchain/langgraph-sdk"];

/** Files that a component imports become part of the bundle: a page loads one script and one style sheet. */
const EMBEDDED = ["png", "jpg", "jpeg", "gif", "webp", "avif", "svg", "woff", "woff2", "ttf", "otf"];
const LOADERS: Record<string, Loader> = Object.fromEntries(EMBEDDED.map((end) => [`.${end}`, "dataurl"]));

/** The client registers its React and its store under these symbols of the global object. */
const entry = (file: string): string => `
import components from ${JSON.stringify(`./${basename(file)}`)};
export function render(name, shadowRootId) {
  if (!Object.hasOwn(components, name)) throw new Error(\`There is no UI component "\${name}".\`);
  const root = document.getElementById(shadowRootId)?.shadowRoot;
  if (!root) return;
  const target = root.appendChild(document.createElement("div"));
  window[Symbol.for("LGUI_EXT_STORE")].respond(shadowRootId, components[name], target);
}`;

/** Builds what `?ui=` imports name. Files of the project that were read are noted in `inputs`. */
export function ui({ root, config }: Project, inputs: Set<string>): Plugin {
  return {
    name: "weir-ui",
    setup(outer) {
      outer.onResolve({ filter: ASKED }, ({ path, resolveDir }) => ({
        path: resolve(resolveDir, path.replace(ASKED, "")),
        suffix: ASKED.exec(path)?.[0],
        namespace: NAMESPACE,
      }));
      outer.onLoad({ filter: /.*/, namespace: NAMESPACE }, async ({ path, suffix }) => {
        inputs.add(path);
        try {
          const { outputFiles, metafile, warnings } = await build({
            stdin: { contents: entry(path), resolveDir: dirname(path), sourcefile: "ui.js", loader: "js" },
            outfile: "entrypoint.js",
            absWorkingDir: root,
            bundle: true,
            write: false,
            metafile: true,
            minify: true,
            format: "iife",
            globalName: globalName(decodeURIComponent(ASKED.exec(suffix)?.[1] ?? "")),
            platform: "browser",
            target: "es2022",
            jsx: "automatic",
            loader: LOADERS,
            logLevel: "silent",
            plugins: [sharePackages([...SHARED, ...(config.ui_config?.shared ?? [])]), ...(await tailwind(root))],
          });
          for (const input of Object.keys(metafile.inputs))
            if (!input.includes("node_modules") && !input.includes(":")) inputs.add(join(root, input));
          const files = outputFiles.map((file) => [basename(file.path), file.text]);
          return { contents: JSON.stringify(Object.fromEntries(files)), loader: "json", warnings };
        } catch (error) {
          const { errors } = error as Partial<BuildFailure>;
          if (!errors) throw error;
          return { errors };
        }
      });
    },
  };
}

/** Takes these packages from the page, where the client gives them out. */
function sharePackages(packages: string[]): Plugin {
  const isShared = (path: string) => packages.some((name) => path === name || path.startsWith(`${name}/`));
  return {
    name: "weir-ui-shared",
    setup(inner) {
      inner.onResolve({ filter: /^[^./]/ }, ({ path }) =>
        isShared(path) ? { path, namespace: "weir-ui-shared" } : undefined,
      );
      inner.onLoad({ filter: /.*/, namespace: "weir-ui-shared" }, ({ path }) => ({
        contents: `module.exports = globalThis[Symbol.for("LGUI_REQUIRE")](${JSON.stringify(path)});`,
        loader: "js",
      }));
    },
  };
}

type Tailwind = () => Plugin;

/** Tailwind, where the project has the plugin that the Agent Server uses for it. */
async function tailwind(root: string): Promise<Plugin[]> {
  let file: string;
  try {
    file = createRequire(join(root, "package.json")).resolve("esbuild-plugin-tailwindcss");
  } catch {
    return [];
  }
  const { default: module } = (await import(pathToFileURL(file).href)) as { default: Tailwind | { default: Tailwind } };
  // A CommonJS file is imported as what it exports, which has a default of its own.
  return ["default" in module ? module.default() : module()];
}
