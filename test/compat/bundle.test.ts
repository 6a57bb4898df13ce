/** What the bundle makes of versions that do not fit. */
import { afterEach, describe, expect, it } from "vitest";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { bundler } from "../../src/cli/bundle/bundle.ts";
import { tooOld } from "../../src/cli/bundle/langchain.ts";
import { generate } from "../../src/cli/project/generate.ts";
import { findProject } from "../../src/cli/project/project.ts";
import { answering, newProject, type TestProject } from "../support/project.ts";
import { pickCases } from "../support/thorough.ts";
import { itThorough } from "../support/thorough-test.ts";

let made: TestProject | undefined;
afterEach(() => {
  made?.remove();
  made = undefined;
});

const module = (name: string, code: string, version = "1.0.0") => ({
  [`node_modules/${name}/package.json`]: { name, version, type: "module", main: "index.js" },
  [`node_modules/${name}/index.js`]: code,
});

async function bundleFiles(files: Record<string, string | object>): Promise<string> {
  made ??= newProject(files);
  const project = await findProject(made.root);
  await generate(project);
  const own = await bundler(project);
  try {
    return new TextDecoder().decode((await own.bundle()).code);
  } finally {
    await own.dispose();
  }
}

describe("a bundle", () => {
  itThorough("lets a file of a package that imports a missing name fail when it is loaded", async () => {
    const head = `import { load } from "many";`;
    const code = await bundleFiles({
      "langgraph.json": { graphs: { agent: "./graph.ts:graph" } },
      "graph.ts": answering("await load().catch(String)", head),
      ...module("many", `export const load = () => import("old");`),
      ...module("old", `import { newer } from "base";\nexport const old = newer;`),
      ...module("base", `export const older = 1;`),
    });
    expect(/No matching export in \\?"node_modules\/base\/index.js\\?" for import/.test(code)).toBe(true);
  });

  it("imports what CommonJS code requires of Node", async () => {
    const code = await bundleFiles({
      "langgraph.json": { graphs: { agent: "./graph.ts:graph" } },
      "graph.ts": answering("emitter", `import emitter from "common";`),
      "node_modules/common/package.json": { name: "common", version: "1.0.0", main: "index.js" },
      "node_modules/common/index.js": `module.exports = class extends require("events") { a = require("node:fs"); };`,
    });
    expect(/from "node:events"/.test(code)).toBe(true);
    expect(/__require\("(node:)?(events|fs)"\)/.test(code)).toBe(false);
  });

  const plugins = [
    ["an ES module", "index.mjs", `export default () => ({ name: "marks", setup });`],
    ["CommonJS", "index.cjs", `module.exports = () => ({ name: "marks", setup });`],
    ["CommonJS with a default", "index.cjs", `module.exports = { default: () => ({ name: "marks", setup }) };`],
  ] as const;
  it.each(pickCases(plugins, 1))(
    "compiles the style sheet of a component by a Tailwind plugin in %s",
    async (_, main, code) => {
      const css = `const setup = ({ onLoad }) => onLoad({ filter: /css$/ }, () => ({ contents: "b{--compiled:1}", loader: "css" }));`;
      const out = await bundleFiles({
        "langgraph.json": { graphs: { agent: "./graph.ts:graph" }, ui: { agent: "./ui.tsx" } },
        "graph.ts": answering("1"),
        "ui.tsx": `import "./style.css";\nexport default {};`,
        "style.css": `@import "tailwindcss";`,
        "node_modules/esbuild-plugin-tailwindcss/package.json": { name: "esbuild-plugin-tailwindcss", main },
        [`node_modules/esbuild-plugin-tailwindcss/${main}`]: `${css}\n${code}`,
      });
      expect(out).toContain("--compiled:1");
    },
  );

  itThorough("still fails where the project's own code imports a missing name", async () => {
    const files = {
      "langgraph.json": { graphs: { agent: "./graph.ts:graph" } },
      "graph.ts": answering("newer", `import { newer } from "base";`),
      ...module("base", `export const older = 1;`),
    };
    await expect(bundleFiles(files)).rejects.toThrow('No matching export in "node_modules/base/index.js"');
  });

  /** A project in which this version of LangGraph is installed. */
  function withVersion(version: string): TestProject {
    made = newProject({ "langgraph.json": { graphs: { agent: "./graph.ts:graph" } }, "graph.ts": answering("1") });
    // The folder that holds this repository's packages is a link.
    rmSync(join(made.root, "node_modules", "@langchain"));
    const folder = join(made.root, "node_modules", "@langchain");
    mkdirSync(folder);
    for (const name of ["core", "langgraph-checkpoint", "langgraph-sdk"])
      symlinkSync(join(import.meta.dirname, "..", "..", "node_modules", "@langchain", name), join(folder, name));
    made.write("node_modules/@langchain/langgraph/package.json", { name: "@langchain/langgraph", version });
    return made;
  }

  it("fails with a version of LangGraph that is too old", async () => {
    withVersion("0.2.56");
    await expect(bundleFiles({})).rejects.toThrow("LangGraph 0.2.56 is installed. Weir needs 0.2.57 or newer");
  });

  it.each([
    ["0.2.56", true],
    ["0.1.9", true],
    ["0.2.57", false],
    ["0.3.0", false],
    ["1.0.0-alpha.1", false],
  ])("says whether LangGraph %s is too old", (version, old) => {
    expect(tooOld(withVersion(version).root)).toHaveLength(old ? 1 : 0);
  });
});
