/** The package as `npm pack` makes it, installed into a folder outside this repository. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildPage } from "../../scripts/build-page.ts";
import { buildPackage } from "../../scripts/build-package.ts";
import { NAME } from "../../src/cli/project/package.ts";
import { writeFiles } from "./project.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const { devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  devDependencies: Record<string, string>;
};

const npm = (cwd: string, ...args: string[]) =>
  execFileSync("npm", [...args, "--no-audit", "--no-fund", "--loglevel", "error"], {
    cwd,
    encoding: "utf8",
    timeout: 300_000,
  });

/** Makes a temporary folder with these files, and installs the package and `dependencies` beside LangGraph. */
export async function createPackedProject(
  files: Record<string, string | object>,
  dependencies: Record<string, string> = {},
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "weir-package-"));
  buildPage();
  await buildPackage();
  npm(ROOT, "pack", "--ignore-scripts", "--pack-destination", folder);
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz")) as string;
  const langchain = ["@langchain/core", "@langchain/langgraph"].map((name) => [name, devDependencies[name] as string]);
  writeFiles(folder, {
    "package.json": {
      private: true,
      dependencies: { ...Object.fromEntries(langchain), [NAME]: `file:${tarball}`, ...dependencies },
    },
    ...files,
  });
  npm(folder, "install", "--prefer-offline");
  return folder;
}
