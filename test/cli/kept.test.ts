/** Which changes make the bundle of an earlier start useless. */
import { rmSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, expect, it } from "vitest";
import { writeBundle } from "../../src/cli/build.ts";
import { bundler } from "../../src/cli/bundle/bundle.ts";
import { keep, kept } from "../../src/cli/bundle/kept.ts";
import { generate } from "../../src/cli/generate.ts";
import { findProject, type Project } from "../../src/cli/project.ts";
import { answering, newProject, type TestProject } from "../support/project.ts";

const files: TestProject[] = [];
let made: TestProject;
let project: Project;
beforeEach(async () => {
  made = newProject({
    "langgraph.json": { graphs: { agent: "./src/agent.ts:graph" } },
    "src/agent.ts": answering("word", `import { word } from "./word";`),
    "src/word.js": `export const word = "one";`,
    "package.json": { name: "kept" },
  });
  files.push(made);
  project = await findProject(made.root);
  await bundled();
});
afterAll(() => files.forEach((one) => one.remove()));

/** Generates and bundles as `weir dev` does. `began` is when the note says that it began. */
async function bundled(began?: number): Promise<void> {
  await generate(project);
  const one = await bundler(project);
  const from = Date.now();
  const result = await one.bundle();
  writeBundle(project, result);
  keep(project, result, one.inputs, began ?? from);
  await one.dispose();
}

it("serves again while nothing has changed, with the files to watch", async () => {
  await generate(project);
  expect(kept(project)).toMatchObject({
    inputs: expect.arrayContaining([join(made.root, "src/agent.ts"), join(made.root, "src/word.js")]),
    warnings: [],
  });
});

it("does not serve when a folder of its sources is missing, or when its note is incomplete", async () => {
  rmSync(join(made.root, "src"), { recursive: true });
  expect(kept(project)).toBeUndefined();
  made.write(".weir/bundle.json", '{"inputs": [');
  expect(kept(project)).toBeUndefined();
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
  expect(kept(project)).toBeDefined();
  change();
  expect(kept(project)).toBeUndefined();
});

it("does not serve after a change of the graphs", async () => {
  made.write("langgraph.json", { graphs: { agent: "./src/agent.ts:graph", other: "./src/agent.ts:graph" } });
  project = await findProject(made.root);
  await generate(project);
  expect(kept(project)).toBeUndefined();
});

it("is not noted when a file has changed during the build", async () => {
  const began = Date.now() - 60_000;
  utimesSync(join(made.root, "src/word.js"), new Date(), new Date());
  await bundled(began);
  expect(kept(project)).toBeUndefined();
});
