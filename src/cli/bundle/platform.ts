/** What the platform itself provides: Node's modules, Cloudflare's, and WebAssembly. */
import { builtinModules } from "node:module";
import type { Plugin } from "esbuild";

const BUILTINS = new Set(builtinModules.filter((name) => !name.startsWith("_")));

/** Modules of Node's that the platform does not have: missing.ts answers for them. */
export const ABSENT = /^node:(sea|quic|test\/reporters)$/;

/** Node.js modules that CommonJS code loads with `require`. */
const REQUIRED = "weir-required";

/**
 * Node's own modules win over npm packages of the same name, which are polyfills for browsers. A Worker has no `require`,
 * so what CommonJS code requires of them is imported.
 */
export function platform(): Plugin {
  return {
    name: "weir-platform",
    setup(build) {
      build.onResolve({ filter: /^(cloudflare|workerd):/ }, ({ path }) => ({ path, external: true }));
      build.onResolve({ filter: /^(node:)?[a-z_0-9]+(\/[a-z_0-9]+)?\/?$/ }, ({ path, kind }) => {
        const name = path.replace(/^node:/, "").replace(/\/$/, "");
        const builtin = `node:${name}`;
        if (ABSENT.test(builtin)) return undefined;
        if (!path.startsWith("node:") && !BUILTINS.has(name)) return undefined;
        return kind === "require-call" ? { path: builtin, namespace: REQUIRED } : { path: builtin, external: true };
      });
      build.onLoad({ filter: /.*/, namespace: REQUIRED }, ({ path }) => ({
        contents: `import required from ${JSON.stringify(path)};\nmodule.exports = required;`,
        loader: "js",
      }));
    },
  };
}
