/** No document, template, message or page leads a reader to the npm package `weir`, which belongs to another project. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { NAME, VERSION } from "../../src/cli/project/package.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");

/** What a reader sees or copies. */
const SEEN = [
  "*.md",
  "docs",
  "examples",
  "packages",
  "src",
  "scripts",
  "types",
  "package.json",
  ":!CHANGELOG.md",
  ":!*.png",
];

const FOREIGN = [
  // An install of the package itself, and not of a file.
  /\b(?:npm (?:i|install|add|exec)|pnpm add|yarn add|bun add)\b[^\n`|;&]*?(?<= )weir(?=@|[\s`"'.,;)]|$)/gm,
  /(?<![\w./-])weir@[\w^~<*]/g,
  /"weir":\s*"(?:[\d^~*<>=]|file:|latest|npm:|workspace:)/g,
  /(?:\bfrom|\bimport|\brequire\(|\bimport\()\s*["']weir(?:["']|\/)/g,
];
/** After such a line, `npx weir` is the command of the project. */
const INSTALLED = /npm (?:i|install) (?:--save-dev |-D )?\S*weir-server|npm create weir|^npm install$/m;

/** `file:line: text` of each place that leads to the foreign package. */
function findForeign(file: string): string[] {
  const text = read(file);
  const installed = INSTALLED.exec(text)?.index ?? Number.POSITIVE_INFINITY;
  // A message and a page of the console have no line before them.
  const isProse = file.endsWith(".md");
  const bare = [...text.matchAll(/\bnpx weir\b/g)].filter(({ index }) => !isProse || index < installed);
  return [...FOREIGN.flatMap((pattern) => [...text.matchAll(pattern)]), ...bare].map(
    ({ 0: words, index }) => `${file}:${text.slice(0, index).split("\n").length}: ${words.trim()}`,
  );
}

it("no text leads to the foreign package", () => {
  const list = ["ls-files", "--cached", "--others", "--exclude-standard", "--", ...SEEN];
  const deleted = new Set(execFileSync("git", ["ls-files", "--deleted"], { cwd: ROOT, encoding: "utf8" }).split("\n"));
  const files = execFileSync("git", list, { cwd: ROOT, encoding: "utf8" }).trim().split("\n");
  expect(files.length).toBeGreaterThan(500);
  expect(files.filter((file) => !deleted.has(file)).flatMap(findForeign)).toEqual([]);
});

it("a new project depends on this package, in this version", () => {
  const starter = JSON.parse(read("examples/starter/package.json")) as { dependencies: Record<string, string> };
  expect(starter.dependencies).toMatchObject({ [NAME]: VERSION });
});
