/** Fetches a project and installs it, as its README says. */
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Project } from "./projects.ts";

/** Where the repositories are: GitHub, or the folder that WEIR_COMPAT_MIRROR names, with one at `<owner>+<name>/repo` each. */
function sourceOf(repository: string): string {
  const mirror = process.env.WEIR_COMPAT_MIRROR;
  return mirror ? join(mirror, repository.replace("/", "+"), "repo") : `https://github.com/${repository}.git`;
}

function run(command: string, args: string[], cwd: string): void {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8", timeout: 240_000 });
  if (status === 0) return;
  throw new Error(`${command} ${args.slice(0, 3).join(" ")} failed. ${error ?? ""}${(stderr || stdout).slice(-800)}`);
}

/** The folder of the project's langgraph.json, with its packages installed. Throws when it cannot be had. */
export function prepared(project: Project, work: string): string {
  const { repository, ref, dir = "" } = project;
  const checkout = join(work, repository.replace("/", "+"), dir.replaceAll("/", "+") || "root");
  const root = join(checkout, dir);
  if (existsSync(join(checkout, ".installed"))) return root;
  rmSync(checkout, { recursive: true, force: true });
  mkdirSync(checkout, { recursive: true });
  run("git", ["clone", "--quiet", "--no-checkout", sourceOf(repository), checkout], work);
  // Of a large repository only the project, and what is beside it at the root.
  if (dir) run("git", ["sparse-checkout", "set", dir], checkout);
  run("git", ["checkout", "--quiet", ref], checkout);
  published(root);
  installed(root, checkout);
  writeFileSync(join(checkout, ".installed"), "");
  const example = join(root, ".env.example");
  if (existsSync(example) && !existsSync(join(root, ".env"))) copyFileSync(example, join(root, ".env"));
  return root;
}

/** Packages of the project's own monorepo become the published ones, as with the command that copies a template. */
function published(root: string): void {
  const file = join(root, "package.json");
  const text = readFileSync(file, "utf8");
  if (text.includes('"workspace:')) writeFileSync(file, text.replaceAll(/"workspace:[^"]*"/g, '"*"'));
}

/** The npm workspace around the project, if there is one, else the project's own folder. */
function installed(root: string, checkout: string): void {
  let folder = root;
  for (let at = root; at !== checkout;) {
    at = dirname(at);
    const file = join(at, "package.json");
    if (!existsSync(file)) continue;
    const { workspaces } = JSON.parse(readFileSync(file, "utf8")) as { workspaces?: string[] };
    if (workspaces?.some((one) => root.startsWith(join(at, one.replace(/\*.*$/, ""))))) folder = at;
  }
  // npm reads the versions of a yarn.lock too.
  const args = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--replace-registry-host=always"];
  try {
    run("npm", args, folder);
  } catch {
    run("npm", [...args, "--legacy-peer-deps"], folder);
  }
}
