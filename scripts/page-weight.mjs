// Prints what the page weighs, compressed, and fails when it is over its budget. Runs at the end of `npm run build`.
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const DIST = new URL("../dist/web/", import.meta.url);
const manifest = JSON.parse(readFileSync(new URL(".vite/manifest.json", DIST), "utf8"));
const size = (file) => gzipSync(readFileSync(new URL(file, DIST)), { level: 9 }).length;
const kb = (bytes) => `${(bytes / 1000).toFixed(1)} KB`;

/** A chunk and everything it imports at once: what must arrive before it runs. */
function collectFiles(names, seen = new Set()) {
  for (const name of names) {
    const chunk = manifest[name];
    if (seen.has(chunk.file)) continue;
    seen.add(chunk.file);
    collectFiles(chunk.imports ?? [], seen);
  }
  return seen;
}

const names = Object.keys(manifest);
const html = readFileSync(new URL("index.html", DIST), "utf8");
/** The script that sends the first requests imports the views, and the page's own code, which `index.html` preloads. */
const script = names.find((name) => html.includes(` src="/${manifest[name].file}"`));
const entry = names.filter((name) => manifest[name].file.endsWith(".js") && html.includes(manifest[name].file));
const views = manifest[script].dynamicImports.filter((name) => !entry.includes(name));
const assets = readdirSync(new URL("assets/", DIST)).map((name) => `assets/${name}`);
const sumSizes = (files) => [...files].reduce((sum, file) => sum + size(file), 0);
const first = collectFiles(entry);

/** The budgets of the views that are opened most, and of the others. */
const BUDGETS = { "chat/Chat.tsx": 140_000, "traces/Traces.tsx": 145_000 };
const BUDGET = 200_000;

const figures = [
  ["entry", sumSizes(first), 125_000],
  ...views.flatMap((view) => {
    const whole = collectFiles([...entry, view]);
    return [[`first view: entry and ${view}`, sumSizes(whole), BUDGETS[view] ?? BUDGET]];
  }),
  ["frame of diagrams, before the kind of the first", sumSizes(collectFiles(["diagram.html"])), 300_000],
  ["styles of all views", sumSizes(assets.filter((file) => file.endsWith(".css"))), 40_000],
];
console.log("\nPage weight, gzip:");
for (const name of names.filter((name) => manifest[name].file.endsWith(".js"))) {
  const { file } = manifest[name];
  console.log(`  ${kb(size(file)).padStart(9)}  ${file}${first.has(file) ? "  *" : ""}`);
}
for (const [name, bytes, budget] of figures)
  console.log(`${bytes > budget ? "OVER" : "ok  "} ${kb(bytes).padStart(9)} of ${kb(budget)}  ${name}`);
// The end of a log is often all that is read.
for (const [name, bytes, budget] of figures.filter(([, bytes, budget]) => bytes > budget)) {
  console.error(`Over budget: ${name} weighs ${kb(bytes)}, its budget is ${kb(budget)}.`);
  process.exitCode = 1;
}
