/** The page and the documentation site, each built when it is not there or older than its source. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const WEB = join(ROOT, "dist", "web");

/** When the newest file below a folder of the repository was written. */
function findNewest(...folder: string[]): number {
  return readdirSync(join(ROOT, ...folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((latest, entry) => Math.max(latest, statSync(join(entry.parentPath, entry.name)).mtimeMs), 0);
}

/** Runs a tool of node_modules. Throws with its output if it fails. */
function run(what: string, ...[tool, ...args]: [tool: string, ...args: string[]]): void {
  console.log(`Building the ${what}…`);
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, "node_modules", tool), ...args], {
    cwd: ROOT,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`The ${what} could not be built.\n${stdout}\n${stderr}`);
}

const isDue = (index: string, source: number) => !existsSync(index) || statSync(index).mtimeMs < source;

/** The documentation, into dist/web/docs. */
export function buildDocs(): void {
  if (!isDue(join(WEB, "docs", "index.html"), findNewest("docs"))) return;
  rmSync(join(WEB, "docs"), { recursive: true, force: true });
  run("documentation", "vitepress/bin/vitepress.js", "build", "docs");
}

/** The page, into dist/web, and the documentation, which the build of the page removes. */
export function buildPage(): void {
  if (isDue(join(WEB, "index.html"), findNewest("packages", "web")))
    run("page", "vite/bin/vite.js", "build", "packages/web");
  buildDocs();
}
