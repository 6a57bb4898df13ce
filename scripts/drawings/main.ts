/** `npm run drawings`: draws the imports of src/ into docs/drawings. test/docs/drawings.test.ts fails when they are stale. */
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { readImports } from "./imports.ts";
import { layered } from "./layers.ts";
import { svg } from "./svg.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const FOLDER = join(ROOT, "docs", "drawings");
const SRC = join(ROOT, "src");
const WEB = join(ROOT, "packages", "web");
/** Of the package, but not of the page. */
const BESIDE = ["node_modules", "vite.config.ts"];

/** The drawings by file name. */
export function drawings(): Record<string, string> {
  const server = layered(readImports(SRC, ["cli"]));
  const threads = layered(readImports(join(SRC, "threads")));
  const traces = layered(readImports(join(SRC, "traces")));
  const page = layered(readImports(WEB, BESIDE));
  return {
    "server.svg": svg(server, "The folders of src and what they import"),
    "threads.svg": svg(threads, "The folders of src/threads and what they import"),
    "traces.svg": svg(traces, "The folders of src/traces and what they import"),
    "page.svg": svg(page, "The folders of packages/web and what they import"),
  };
}

/** The arrows that point up, in these folders and in the folders within: `src/threads: log -> runs`. */
export function listUpward(roots = [SRC, WEB]): string[] {
  const folders = roots.flatMap((root) =>
    readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((folder) => !folder.includes("node_modules")),
  );
  return [...roots, ...folders.sort()].flatMap((folder) =>
    layered(readImports(folder, BESIDE)).up.map(([from, to]) => `${relative(ROOT, folder)}: ${from} -> ${to}`),
  );
}

if (process.argv[1] === import.meta.filename) {
  mkdirSync(FOLDER, { recursive: true });
  for (const [name, text] of Object.entries(drawings())) writeFileSync(join(FOLDER, name), text);
  const up = listUpward();
  console.log(up.length === 0 ? "No arrow points up." : `Arrows that point up:\n${up.join("\n")}`);
}
