/** `weir dev` bundles packages apart from the project's code, and imports of them mean what they mean in Node. */
import { statSync } from "node:fs";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { packagesFile } from "../../src/cli/bundle/bundle.ts";
import { answering, newProject, type RunningDev, startDev, type TestProject } from "../support/project.ts";

const createPackage = (name: string, code: string, more: object = {}) => ({
  [`node_modules/${name}/package.json`]: { name, version: "1.0.0", main: "index.js", ...more },
  [`node_modules/${name}/index.js`]: code,
});
const HEAD = `
import fallback, { count, grow, "a-b" as quoted } from "as-module";
import whole, { named } from "as-commonjs";
import * as all from "with-star";
`;
const ANSWER = `JSON.stringify([fallback(), (grow(), count), quoted, whole.named, named, Object.keys(all).sort()])`;

let project: TestProject;
let dev: RunningDev;
let client: Client;
beforeAll(async () => {
  project = newProject({
    "package.json": { name: "split", type: "module" },
    "langgraph.json": { graphs: { agent: "./agent.ts:graph" } },
    "agent.ts": answering(ANSWER, HEAD),
    ...createPackage(
      "as-module",
      `export let count = 1;
       export const grow = () => { count += 1 };
       const ab = "quoted";
       export { ab as "a-b" };
       export default () => "default";`,
      { type: "module" },
    ),
    ...createPackage("as-commonjs", `module.exports = { named: "named" };`),
    ...createPackage("with-star", `export * from "as-commonjs"; export const own = 1;`, { type: "module" }),
    ...createPackage("another", `export const word = "another";`, { type: "module" }),
    ...createPackage("waits", `export const word = await Promise.resolve("waited");`, { type: "module" }),
  });
  dev = await startDev(project.root);
  await dev.says(/Weir listens on/);
  client = new Client({ apiUrl: dev.url });
});
afterAll(async () => {
  await dev.stop();
  project.remove();
});

async function answer(): Promise<string | undefined> {
  const values = await client.runs.wait(null, "agent", { input: { messages: [] } }).catch(() => undefined);
  return (values as { messages?: { content: string }[] } | undefined)?.messages?.at(-1)?.content;
}
const PATIENCE = { timeout: 90_000, interval: 200 };
const readWritten = () => statSync(packagesFile(`${project.root}/.weir`)).mtimeMs;

it("gives the exports of modules and of CommonJS, with what changes in them", async () => {
  expect(JSON.parse((await answer()) ?? "")).toEqual(["default", 2, "quoted", "named", "named", ["named", "own"]]);
});

it("leaves the packages as they are when the project's code changes", async () => {
  const before = readWritten();
  project.write("agent.ts", answering(`"edited"`, HEAD));
  await expect.poll(answer, PATIENCE).toBe("edited");
  expect(readWritten()).toBe(before);
});

it("adds a package that is imported from now on, and builds one again that has changed", async () => {
  const head = `import { word } from "another";`;
  project.write("agent.ts", answering("word", head));
  await expect.poll(answer, PATIENCE).toBe("another");
  project.write("node_modules/another/index.js", `export const word = "changed";`);
  project.write("agent.ts", answering("word + 1", head));
  await expect.poll(answer, PATIENCE).toBe("changed1");
});

it("names an import that the package does not have", async () => {
  project.write("agent.ts", answering("words", `import { words } from "another";`));
  await dev.says(/agent\.ts:4:9[^]*words/);
  expect(dev.readPrinted()).toMatch(/No matching export in "node_modules\/another\/index\.js" for import "words"/);
});

it("bundles everything as one where a package waits at its top level", async () => {
  project.write("agent.ts", answering("word", `import { word } from "waits";`));
  await expect.poll(answer, PATIENCE).toBe("waited");
});
