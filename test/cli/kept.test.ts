/** Which changes make the bundle of an earlier start useless. */
import { rmSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { writeBundle } from "../../src/cli/build.ts";
import { type Bundle, bundler } from "../../src/cli/bundle/bundle.ts";
import { keepBundle, readKeptBundle } from "../../src/cli/bundle/packages.ts";
import { generate } from "../../src/cli/project/generate.ts";
import { findProject, type Project } from "../../src/cli/project/project.ts";
import { answering, newProject, type TestProject, writeFiles } from "../support/project.ts";

const FILES = {
  "langgraph.json": { graphs: { agent: "./src/agent.ts:graph" } },
  "src/agent.ts": answering("word", `import { word } from "./word";`),
  "src/word.js": `export const word = "one";`,
  "package.json": { name: "kept" },
};
/** What the tests add. */
const ADDED = ["src/word.ts", "tsconfig.json", "node_modules/more", "node_modules/.package-lock.json"];

let made: TestProject;
let project: Project;
let result: Bundle;
let inputs: string[];
beforeAll(async () => {
  made = newProject(FILES);
  project = await findProject(made.root);
  await generate(project);
  const one = await bundler(project);
  result = await one.bundle();
  inputs = one.inputs;
  await one.dispose();
});
afterAll(() => made.remove());

// The files are the first ones again, and the note is that of a build of them: the bundle is the same.
beforeEach(async () => {
  for (const path of ADDED) rmSync(join(made.root, path), { recursive: true, force: true });
  writeFiles(made.root, FILES);
  project = await findProject(made.root);
  await generate(project);
  note(Date.now() + 1_000);
});

/** Notes the bundle as `weir dev` does, of a build that began then. */
function note(began: number): void {
  writeBundle(project, result);
  keepBundle(project, result, inputs, began);
}

it("serves again while nothing has changed, with the files to watch", async () => {
  await generate(project);
  expect(readKeptBundle(project)).toMatchObject({
    inputs: expect.arrayContaining([join(made.root, "src/agent.ts"), join(made.root, "src/word.js")]),
    warnings: [],
  });
});

it("does not serve when a folder of its sources is missing, or when its note is incomplete", async () => {
  rmSync(join(made.root, "src"), { recursive: true });
  expect(readKeptBundle(project)).toBeUndefined();
  made.write(".weir/bundle.json", '{"inputs": [');
  expect(readKeptBundle(project)).toBeUndefined();
});

it.each<[string, () => void]>([
  ["a source", () => made.write("src/word.js", `export const word = "two";`)],
  ["a source that is as long as before", () => made.write("src/word.js", `export const word = "two" `)],
  ["a new file that an import prefers", () => made.write("src/word.ts", `export const word = "three";`)],
  ["the project's package.json", () => made.write("package.json", { name: "kept", type: "module" })],
  ["its tsconfig.json", () => made.write("tsconfig.json", { compilerOptions: { paths: {} } })],
  ["a package that is installed", () => made.write("node_modules/more/package.json", { name: "more" })],
  ["what npm installed", () => made.write("node_modules/.package-lock.json", { packages: {} })],
  ["the bundle itself", () => made.write(".weir/build/bundle.mjs", "export default {};")],
])("does not serve after a change of %s", (_, change) => {
  expect(readKeptBundle(project)).toBeDefined();
  change();
  expect(readKeptBundle(project)).toBeUndefined();
});

it("does not serve after a change of the graphs", async () => {
  made.write("langgraph.json", { graphs: { agent: "./src/agent.ts:graph", other: "./src/agent.ts:graph" } });
  project = await findProject(made.root);
  await generate(project);
  expect(readKeptBundle(project)).toBeUndefined();
});

it("is not noted when a file has changed during the build", () => {
  const began = Date.now() - 60_000;
  utimesSync(join(made.root, "src/word.js"), new Date(), new Date());
  note(began);
  expect(readKeptBundle(project)).toBeUndefined();
});
