/** No document, template, message or page leads a reader to the npm package `weir`, which belongs to another project. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { NAME, VERSION } from "../../src/cli/project/package.ts";
import { pickCases } from "../support/thorough.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");

/** What a reader gets to see or to copy. The changelog says what was. */
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
const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", ...SEEN], {
  cwd: ROOT,
  encoding: "utf8",
})
  .trim()
  .split("\n");

const FOREIGN = [
  // An install of the package itself, and not of a file.
  /\b(?:npm (?:i|install|add|exec)|pnpm add|yarn add|bun add)\b[^\n`|;&]*?(?<= )weir(?=@|[\s`"'.,;)]|$)/gm,
  /(?<![\w./-])weir@[\w^~<*]/g,
  /"weir":\s*"(?:[\d^~*<>=]|file:|latest|npm:|workspace:)/g,
  /(?:\bfrom|\bimport|\brequire\(|\bimport\()\s*["']weir(?:["']|\/)/g,
  /your-org/g,
];
/** After such a line, `npx weir` is the command of the project. */
const INSTALLED = /npm (?:i|install) (?:--save-dev |-D )?\S*weir-server|npm create weir|^npm install$/m;

/** `file:line: text` of each place that leads to the foreign package. */
function findForeign(file: string, text: string): string[] {
  const at = (index: number) => `${file}:${text.slice(0, index).split("\n").length}`;
  const found = FOREIGN.flatMap((pattern) => [...text.matchAll(pattern)]);
  const installed = INSTALLED.exec(text)?.index ?? Number.POSITIVE_INFINITY;
  // A message and a page of the console have no line before them.
  const isProse = file.endsWith(".md");
  const bare = [...text.matchAll(/\bnpx weir\b/g)].filter(({ index }) => !isProse || index < installed);
  return [...found, ...bare].map(({ 0: words, index }) => `${at(index)}: ${words.trim()}`);
}

describe("a text that leads to the foreign package is found", () => {
  it.each([
    "npm install --save-dev weir",
    "Run `npm i -D weir` first.",
    "npm install weir @langchain/core",
    "pnpm add -D weir",
    "npm install --save-dev weir@latest",
    "npx -p weir@1 weir dev",
    '"dependencies": {"weir": "1.0.0"}',
    '"weir": "file:weir-1.0.0.tgz"',
    'import { createWeir } from "weir";',
    'const { workersAi } = await import("weir/workers-ai");',
    `npx weir dev\nnpm install --save-dev ${NAME}`,
    "https://github.com/your-org/weir",
  ])("%s", (text) => expect(findForeign("a.md", text)).toHaveLength(text.includes("weir@latest") ? 2 : 1));

  it("and a text that does not is not", () => {
    const text = [
      `npm install --save-dev ${NAME}@latest && npx weir dev`,
      `npm uninstall weir && npm install --save-dev ${NAME}`,
      `npx -p ${NAME} weir keys list`,
      "npm create weir my-agent",
      '"bin": {"weir": "dist/cli/main.js"}, "dev": "weir dev"',
      `import { createWeir } from "${NAME}";`,
    ];
    expect(findForeign("a.md", text.join("\n"))).toEqual([]);
  });
});

it("no text leads to the foreign package", () => {
  expect(files.length).toBeGreaterThan(500);
  expect(files.flatMap((file) => findForeign(file, read(file)))).toEqual([]);
});

describe("the name", () => {
  it("is that of package.json, which may be published", () => {
    const manifest = JSON.parse(read("package.json")) as { name: string; private?: boolean; bin: object };
    expect(manifest).toMatchObject({ name: NAME, bin: { weir: "dist/cli/main.js" } });
    expect(manifest.private).toBeUndefined();
    const lock = JSON.parse(read("package-lock.json")) as { name: string; packages: Record<string, { name?: string }> };
    expect([lock.name, lock.packages[""]?.name]).toEqual([NAME, NAME]);
  });

  it("is what the project of `npm create weir` depends on, in this version", () => {
    const starter = JSON.parse(read("examples/starter/package.json")) as { dependencies: Record<string, string> };
    expect(starter.dependencies).toMatchObject({ [NAME]: VERSION });
    const create = JSON.parse(read("packages/create-weir/package.json")) as { version: string };
    expect(create.version).toBe(VERSION);
  });

  it("is what the sources of this repository resolve", () => {
    const { compilerOptions } = JSON.parse(read("tsconfig.json")) as { compilerOptions: { paths: object } };
    expect(Object.keys(compilerOptions.paths)).toEqual([`${NAME}/workers-ai`, `${NAME}/offline-model`]);
  });

  it("is in no other source: it comes from package.json", () => {
    const sources = files.filter((file) => /^(?:src|scripts|packages)\/.*\.(?:tsx?|m?js)$/.test(file));
    expect(
      sources.filter((file) =>
        read(file)
          .replaceAll(/\/\*[^]*?\*\/|\/\/.*/g, "")
          .includes(NAME),
      ),
    ).toEqual([]);
  });
});

describe("both packages can be packed", () => {
  const packages: [title: string, folder: string, name: string, parts: string[]][] = [
    ["npm create weir", "packages/create-weir", "create-weir", ["index.js"]],
    ["the server", ".", NAME, ["dist/", "wrangler.toml"]],
  ];
  it.each(pickCases(packages, 1))("%s", (_, folder, name, parts) => {
    const argv = ["pack", "--dry-run", "--json", "--ignore-scripts", "--offline"];
    const said = execFileSync("npm", argv, { cwd: join(ROOT, folder), encoding: "utf8", stdio: "pipe" });
    const [packed] = Object.values(JSON.parse(said) as Record<string, { name: string; files: { path: string }[] }>);
    expect(packed?.name).toBe(name);
    for (const part of parts) expect(packed?.files.some(({ path }) => path.startsWith(part))).toBe(true);
  });
});

it("the README fits on two screens", () => {
  expect(read("README.md").trimEnd().split("\n").length).toBeLessThanOrEqual(90);
});
