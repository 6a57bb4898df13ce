/** The page, built when it is not there or older than its source. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");

export function buildPage(): void {
  const built = join(ROOT, "dist", "web", "index.html");
  const source = join(ROOT, "src", "web");
  const newest = readdirSync(source, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((latest, entry) => Math.max(latest, statSync(join(entry.parentPath, entry.name)).mtimeMs), 0);
  if (existsSync(built) && statSync(built).mtimeMs >= newest) return;
  console.log("Building the page…");
  const vite = join(ROOT, "node_modules", "vite", "bin", "vite.js");
  const { status, stdout, stderr } = spawnSync(process.execPath, [vite, "build"], { cwd: ROOT, encoding: "utf8" });
  if (status !== 0) throw new Error(`The page could not be built.\n${stdout}\n${stderr}`);
}
