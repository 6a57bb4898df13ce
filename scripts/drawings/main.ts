/** `npm run drawings`: draws the imports of src/ into docs/drawings. test/docs/drawings.test.ts fails when they are stale. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { importsOf } from "./imports.ts";
import { layered } from "./layers.ts";
import { svg } from "./svg.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const FOLDER = join(ROOT, "docs", "drawings");

/** The drawings by file name, and the arrows of the first one that point up. */
export function drawings(): { files: Record<string, string>; up: string[] } {
  const server = layered(importsOf(join(ROOT, "src"), ["web", "cli"]));
  const threads = layered(importsOf(join(ROOT, "src", "threads")));
  const traces = layered(importsOf(join(ROOT, "src", "traces")));
  return {
    files: {
      "server.svg": svg(server, "The folders of src and what they import"),
      "threads.svg": svg(threads, "The folders of src/threads and what they import"),
      "traces.svg": svg(traces, "The folders of src/traces and what they import"),
    },
    up: server.up.map(([from, to]) => `${from} -> ${to}`),
  };
}

if (process.argv[1] === import.meta.filename) {
  mkdirSync(FOLDER, { recursive: true });
  const { files, up } = drawings();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(FOLDER, name), text);
  console.log(up.length === 0 ? "No arrow points up." : `Arrows that point up:\n${up.join("\n")}`);
}
