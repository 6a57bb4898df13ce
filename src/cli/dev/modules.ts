/** The bundle in `.weir/build` as modules of Miniflare. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { posix } from "../paths.ts";
import { BUNDLE } from "../bundle/files.ts";

export interface Module {
  type: "ESModule" | "CompiledWasm" | "Data";
  path: string;
  contents: string | Uint8Array<ArrayBuffer>;
}

/** The bundle first, which is the main module, then the files beside it. The entry for Wrangler has no use here. */
export function modulesOf(folder: string): Module[] {
  const main: Module = {
    type: "ESModule",
    path: join(folder, BUNDLE),
    contents: readFileSync(join(folder, BUNDLE), "utf8"),
  };
  const others = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.m?js$/.test(entry.name))
    .map(({ parentPath, name }) => join(parentPath, name))
    .map((path): Module => {
      const type = path.endsWith(".wasm") ? "CompiledWasm" : "Data";
      return { type, path, contents: new Uint8Array(readFileSync(path)) };
    });
  return [main, ...others.toSorted((a, b) => (posix(folder, a.path) < posix(folder, b.path) ? -1 : 1))];
}
