/** What the platform itself provides: Node's modules, Cloudflare's, and WebAssembly. */
import { builtinModules } from "node:module";
import type { ImportKind, Plugin } from "esbuild";

/** Modules of Node's that the platform does not have. */
export const ABSENT = /^node:(sea|quic|test\/reporters)$/;

const BUILTINS = new Set(builtinModules.filter((name) => !name.startsWith("_")));

/** Node's own modules win over npm packages of the same name, which are polyfills for browsers. */
export function platform(): Plugin {
  return {
    name: "weir-platform",
    setup(build) {
      build.onResolve({ filter: /^(cloudflare|workerd|node):/ }, ({ path, kind }) =>
        ABSENT.test(path) ? undefined : provided(path, kind),
      );
      build.onResolve({ filter: /^[a-z_]+(\/[a-z_]+)?\/?$/ }, ({ path, kind }) => {
        const name = path.replace(/\/$/, "");
        return BUILTINS.has(name) ? provided(`node:${name}`, kind) : undefined;
      });
      build.onLoad({ filter: /.*/, namespace: REQUIRED }, ({ path }) => ({
        contents: `import * as all from ${JSON.stringify(path)};\nmodule.exports = all.default ?? all;`,
        loader: "js",
      }));
    },
  };
}

const REQUIRED = "weir-required";

/** A Worker is an ES module, which has no `require`: what CommonJS packages require is imported for them. */
const provided = (path: string, kind: ImportKind) =>
  kind === "require-call" ? { path, namespace: REQUIRED } : { path, external: true };
