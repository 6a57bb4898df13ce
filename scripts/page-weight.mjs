// Prints what the page weighs, compressed, and fails when it is over its budget. Runs at the end of `npm run build`.
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const DIST = new URL("../dist/web/", import.meta.url);
const manifest = JSON.parse(readFileSync(new URL(".vite/manifest.json", DIST), "utf8"));
const size = (file) => gzipSync(readFileSync(new URL(file, DIST)), { level: 9 }).length;
const kb = (bytes) => `${(bytes / 1000).toFixed(1)} KB`;

/** A chunk and everything it imports at once: what must arrive before it runs. */
function together(names, seen = new Set()) {
  for (const name of names) {
    const chunk = manifest[name];
    if (seen.has(chunk.file)) continue;
    seen.add(chunk.file);
    together(chunk.imports ?? [], seen);
  }
  return seen;
}

const entry = Object.keys(manifest).filter((name) => manifest[name].isEntry);
const chat = Object.keys(manifest).filter((name) => name.endsWith("chat/Chat.tsx"));
const firstView = [...together([...entry, ...chat])];
const scripts = Object.values(manifest)
  .map((chunk) => chunk.file)
  .filter((file, i, all) => file.endsWith(".js") && all.indexOf(file) === i);
const assets = readdirSync(new URL("assets/", DIST)).map((name) => `assets/${name}`);
const total = (files) => files.reduce((sum, file) => sum + size(file), 0);

const figures = [
  ["entry", total([...together(entry)]), 150_000],
  ["first view (entry and chat)", total(firstView), 250_000],
  ["all scripts, with what loads when needed", total(scripts), 340_000],
  ["styles", total(assets.filter((file) => file.endsWith(".css"))), 15_000],
];
console.log("\nPage weight, gzip:");
for (const file of scripts)
  console.log(`  ${kb(size(file)).padStart(9)}  ${file}${firstView.includes(file) ? "  *" : ""}`);
let over = false;
for (const [name, bytes, budget] of figures) {
  over ||= bytes > budget;
  console.log(`${bytes > budget ? "OVER" : "ok  "} ${kb(bytes).padStart(9)} of ${kb(budget)}  ${name}`);
}
if (over) process.exit(1);
