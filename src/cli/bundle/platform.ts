/** What the platform itself provides: Node's modules, Cloudflare's, and WebAssembly. */
import { builtinModules } from "node:module";
import type { Plugin } from "esbuild";

const BUILTINS = new Set(builtinModules.filter((name) => !name.startsWith("_")));

/** Node's own modules win over npm packages of the same name, which are polyfills for browsers. */
export function platform(): Plugin {
  return {
    name: "weir-platform",
    setup(build) {
      build.onResolve({ filter: /^(cloudflare|workerd|node):/ }, ({ path }) => ({ path, external: true }));
      build.onResolve({ filter: /^[a-z_]+(\/[a-z_]+)?\/?$/ }, ({ path }) => {
        const name = path.replace(/\/$/, "");
        return BUILTINS.has(name) ? { path: `node:${name}`, external: true } : undefined;
      });
    },
  };
}
