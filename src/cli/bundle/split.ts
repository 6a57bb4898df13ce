/** The project's code apart from its packages, so that an edit builds the project's code only. */
import type { Plugin } from "esbuild";
import { MODULES } from "../project/package.ts";
import type { Project } from "../project/project.ts";
import { type Bundler, bundler, PACKAGES } from "./bundle.ts";
import { buildPackages, readKeptPackages, type PackagedFile, type Packages } from "./packages.ts";

/** How the bundle calls the function that loads a package. */
const LOAD = "weirLoad";

const NONE: Packages = { files: {}, sources: [], inputs: [] };

/** A bundler that leaves packages to a module of their own, and writes that when it is not as the project needs it. */
export async function splitBundler(project: Project): Promise<Bundler> {
  let packages = NONE;
  let whole: Bundler | undefined;
  const wanted = new Set<string>();
  const own = await bundler(project, {
    banner: `import { load as ${LOAD} } from "./${PACKAGES}";`,
    plugin: createStandIns((path) => {
      wanted.add(path);
      return packages.files[path];
    }),
  });
  return {
    get inputs() {
      return whole?.inputs ?? [...own.inputs, ...packages.inputs];
    },
    async bundle() {
      packages = readKeptPackages(project) ?? NONE;
      for (;;) {
        if (whole) return whole.bundle();
        wanted.clear();
        const bundled = await own.bundle();
        const lacking = [...wanted].filter((path) => !packages.files[path]);
        if (lacking.length === 0) return { ...bundled, sources: [...bundled.sources, ...packages.sources] };
        const made = await buildPackages(project, [...Object.keys(packages.files), ...lacking].sort());
        if (made) packages = made;
        else whole = await bundler(project);
      }
    },
    async dispose() {
      await Promise.all([own.dispose(), whole?.dispose()]);
    },
  };
}

/** Puts a stand-in for each file of a package, which takes from the module what the file exports. */
function createStandIns(packagedAs: (path: string) => PackagedFile | undefined): Plugin {
  const runtime = new Set(Object.values(MODULES));
  return {
    name: "weir-split",
    setup(build) {
      build.onLoad({ filter: /\.[cm]?[jt]sx?$/ }, ({ path }) => {
        if (!path.includes("node_modules") && !runtime.has(path)) return undefined;
        return { contents: createStandIn(packagedAs(path), /\.m[jt]s$/.test(path)), loader: "js" };
      });
      build.onResolve({ filter: /^weir:package:/ }, ({ path }) => ({ path, namespace: "weir-split" }));
      build.onLoad({ filter: /.*/, namespace: "weir-split" }, ({ path }) => ({
        contents: loadingModule(path.replace("weir:package:", "")),
        loader: "js",
      }));
    },
  };
}

/** A CommonJS module, so that what is imported from it is read when it is used. */
const loadingModule = (key: string): string => `module.exports = ${LOAD}(${JSON.stringify(key)});`;

/** With the names that the file exports, a wrong one is found as in the file itself. A file that is not in the module yet exports anything. */
export function createStandIn(packaged: PackagedFile | undefined, isModule: boolean): string {
  const { key, names, more } = packaged ?? { key: "" };
  // esbuild takes a file for a module by its ending, and a module has no `module.exports`.
  if (!names && isModule) return `export * from ${JSON.stringify(`weir:package:${key}`)};`;
  if (!packaged) return "module.exports = {};";
  if (!names) return loadingModule(key);
  const from = JSON.stringify(`weir:package:${key}`);
  const list = names.map((name) => (name === "default" ? "weirDefault as default" : JSON.stringify(name)));
  return [`export { ${list.join(", ")} } from ${from};`, ...(more ? [`export * from ${from};`] : [])].join("\n");
}
