/** Files of packages that do not fit the versions beside them: modules that throw when they are loaded. */
import type { BuildFailure, Plugin } from "esbuild";
import { resolve } from "node:path";
import { thrower } from "./missing.ts";

/**
 * In Node a module that imports a name which is not there fails when it is loaded, and a module that is never loaded
 * does not matter: `langchain` has an `import()` of each provider, of which a project uses one. A bundler fails at
 * once.
 */
export class Broken {
  /** By file, why it cannot be loaded. */
  readonly #files = new Map<string, string>();

  /**
   * Records the files of packages that a build failed for. False when it failed for something else too, or for these
   * again.
   */
  note({ errors }: BuildFailure, root: string): boolean {
    const before = this.#files.size;
    for (const { text, location } of errors) {
      if (!location?.file.includes("node_modules") || !text.startsWith("No matching export")) return false;
      this.#files.set(resolve(root, location.file), `${location.file}: ${text}`);
    }
    return this.#files.size > before;
  }

  /** Comes before plugins that load files of packages. */
  get plugin(): Plugin {
    return {
      name: "weir-broken",
      setup: (build) => {
        build.onLoad({ filter: /node_modules/ }, ({ path }) => {
          const why = this.#files.get(path);
          return why === undefined ? undefined : { contents: thrower(why), loader: "js" };
        });
      },
    };
  }
}
