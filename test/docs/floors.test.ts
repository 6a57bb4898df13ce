/** The floors of `src`, and what may be imported from outside of the server. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { build } from "esbuild";
import { expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..", "..");
const SRC = join(ROOT, "src");

/**
 * From the bottom. A unit is a folder or a file of `src`. It imports itself, the units before it on its floor and the floors below,
 * for types too. Units of one group do not import each other.
 */
const FLOORS = [
  [["lib"], ["config.ts"], ["db", "http"], ["deployment.ts"]],
  [["runtime"], ["access"], ["deliveries", "limits", "agents"]],
  [["traces"], ["threads", "exports"]],
  [["automation"], ["system"], ["protocols"]],
  [["mounts.ts"], ["app.ts"], ["index.ts"]],
];
const HEIGHTS = new Map(FLOORS.flat().flatMap((group, height) => group.map((unit) => [unit, height] as const)));

/** The files of the server that the CLI, the page and published entries may import. Each brings at most the others. */
const OPEN = [
  /^config\.ts$/,
  /^http\/principal\.ts$/,
  /^lib\/uuid\.ts$/,
  /^limits\/\w+\/rule\.ts$/,
  /^limits\/prices\/price-list\.ts$/,
  /^agents\/evaluation\/[\w-]+\.ts$/,
  /^agents\/models\/workers-ai\.ts$/,
  /^agents\/prompts\/(?:role|template|chat-manifest)\.ts$/,
  /^access\/audit\/verify\.ts$/,
  /^protocols\/ui\/global-name\.ts$/,
];

const unitOf = (file: string): string => file.split("/")[0] ?? "";

const listFiles = (folder: string, pattern: RegExp): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => pattern.test(file) && !file.endsWith(".d.ts") && !/(^|\/)node_modules\//.test(file))
    .map((file) => join(folder, file));

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\b[^;"']*?\bfrom\s*"(\.[^"]+)"|(?:\bimport\s*\(\s*|(?:^|\n)import\s+)"(\.[^"]+)"/g;

/** The files of `src` that a file imports, by their paths in `src`. `isTypeLeft`: imports of types are left out. */
function importsOf(file: string, isTypeLeft = false): string[] {
  const found = [...readFileSync(file, "utf8").matchAll(IMPORT)];
  const counted = found.filter(([text]) => !isTypeLeft || !/^\s*(?:import|export) type\b/.test(text));
  return counted
    .map(([, named = "", bare = ""]) => relative(SRC, join(dirname(file), named || bare)))
    .filter((path) => !path.startsWith(".."));
}

it("every unit of src has its place on a floor", () => {
  const units = new Set(listFiles(SRC, /\.ts$/).map((file) => unitOf(relative(SRC, file))));
  expect([...units].filter((unit) => unit !== "cli" && !HEIGHTS.has(unit))).toEqual([]);
});

it("imports point down", () => {
  const up = listFiles(SRC, /\.ts$/).flatMap((path) => {
    const file = relative(SRC, path);
    const from = HEIGHTS.get(unitOf(file));
    if (from === undefined) return [];
    const isUp = (to: string) => unitOf(to) !== unitOf(file) && (HEIGHTS.get(unitOf(to)) ?? Infinity) >= from;
    return importsOf(path)
      .filter(isUp)
      .map((to) => `${file} -> ${to}`);
  });
  expect(up).toEqual([]);
});

it("no file is in a circle, types included", () => {
  const files = new Map(listFiles(SRC, /\.ts$/).map((path) => [relative(SRC, path), importsOf(path)]));
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, path: string[]): void => {
    if (path.includes(file)) return void circles.push([...path.slice(path.indexOf(file)), file].join(" -> "));
    if (done.has(file)) return;
    for (const next of files.get(file) ?? []) visit(next, [...path, file]);
    done.add(file);
  };
  for (const file of files.keys()) visit(file, []);
  expect(circles).toEqual([]);
});

it("the CLI and the page import only what has no server behind it", () => {
  const outside = [...listFiles(join(SRC, "cli"), /\.ts$/), ...listFiles(join(ROOT, "packages", "web"), /\.tsx?$/)];
  const wrong = outside.flatMap((path) =>
    importsOf(path, true)
      .filter((to) => unitOf(to) !== "cli" && !OPEN.some((pattern) => pattern.test(to)))
      .map((to) => `${relative(ROOT, path)} -> src/${to}`),
  );
  expect(wrong).toEqual([]);
});

it("what may be imported from outside brings nothing else of the server", async () => {
  const entryPoints = listFiles(SRC, /\.ts$/).filter((path) =>
    OPEN.some((pattern) => pattern.test(relative(SRC, path))),
  );
  expect(entryPoints.length).toBeGreaterThanOrEqual(OPEN.length);
  const bundled = await build({
    absWorkingDir: ROOT,
    entryPoints,
    outdir: "out",
    bundle: true,
    write: false,
    metafile: true,
    packages: "external",
    format: "esm",
    platform: "node",
  });
  const own = Object.keys(bundled.metafile.inputs).map((file) => relative(SRC, join(ROOT, file)));
  expect(own.filter((file) => !OPEN.some((pattern) => pattern.test(file)))).toEqual([]);
});
