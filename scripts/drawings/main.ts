/** `npm run drawings`: draws the imports of src/ into docs/drawings. test/docs/drawings.test.ts fails when they are stale. */
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { importsOf } from "./imports.ts";
import { layered } from "./layers.ts";
import { svg } from "./svg.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const FOLDER = join(ROOT, "docs", "drawings");
const SRC = join(ROOT, "src");

/** The drawings by file name. */
export function drawings(): Record<string, string> {
  const server = layered(importsOf(SRC, ["web", "cli"]));
  const threads = layered(importsOf(join(SRC, "threads")));
  const traces = layered(importsOf(join(SRC, "traces")));
  const page = layered(importsOf(join(SRC, "web")));
  return {
    "server.svg": svg(server, "The folders of src and what they import"),
    "threads.svg": svg(threads, "The folders of src/threads and what they import"),
    "traces.svg": svg(traces, "The folders of src/traces and what they import"),
    "page.svg": svg(page, "The folders of src/web and what they import"),
  };
}

/** The arrows that point up, in every folder below `src` and in the folders within: `src/threads: log -> runs`. */
export function upward(src = SRC): string[] {
  const folders = readdirSync(src, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name));
  return [src, ...folders.sort()].flatMap((folder) =>
    layered(importsOf(folder)).up.map(([from, to]) => `${join("src", relative(src, folder))}: ${from} -> ${to}`),
  );
}

if (process.argv[1] === import.meta.filename) {
  mkdirSync(FOLDER, { recursive: true });
  for (const [name, text] of Object.entries(drawings())) writeFileSync(join(FOLDER, name), text);
  const up = upward();
  console.log(up.length === 0 ? "No arrow points up." : `Arrows that point up:\n${up.join("\n")}`);
}
