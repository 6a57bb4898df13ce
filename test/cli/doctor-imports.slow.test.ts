/** What the imports of a project's graph lead to in its bundle: packages are resolved, and Weir has had two names. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { bundler } from "../../src/cli/bundle/bundle.ts";
import { generate } from "../../src/cli/project/generate.ts";
import { NAME } from "../../src/cli/project/package.ts";
import { findProject } from "../../src/cli/project/project.ts";

const ROOT = join(import.meta.dirname, "..", "..");

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "weir-imports-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
}

test.each([
  ["imports Weir by its name", `${NAME}/offline-model`, undefined, /delay/],
  ["has another project's package `weir`", "weir", "another project", /another project/],
])("a project that %s gets that package", async (_, name, foreign, expected) => {
  write({
    "package.json": '{"name": "agent"}',
    "langgraph.json": '{"graphs": {"agent": "./agent.ts:graph"}}',
    "agent.ts": `import * as used from "${name}";\nexport const graph = { invoke: () => used, stream() {} };`,
  });
  for (const scope of ["@langchain", "zod"]) {
    mkdirSync(join(root, "node_modules"), { recursive: true });
    symlinkSync(join(ROOT, "node_modules", scope), join(root, "node_modules", scope));
  }
  if (foreign)
    write({
      "node_modules/weir/package.json": '{"version": "0.1.0", "main": "index.js"}',
      "node_modules/weir/index.js": `export const words = "${foreign}";`,
    });
  const project = await findProject(root);
  await generate(project);
  const made = await bundler(project);
  const { code } = await made.bundle().finally(() => made.dispose());
  expect(new TextDecoder().decode(code)).toMatch(expected);
});
