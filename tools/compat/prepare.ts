/** Fetches a project and installs it, as its README says. */
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Project } from "./projects.ts";

/** Where the repositories are: GitHub, or the folder that WEIR_COMPAT_MIRROR names, with one at `<owner>+<name>/repo` each. */
function findSource(repository: string): string {
  const mirror = process.env.WEIR_COMPAT_MIRROR;
  return mirror ? join(mirror, repository.replace("/", "+"), "repo") : `https://github.com/${repository}.git`;
}

/** Otherwise pnpm runs the version of itself that the project names. */
const env = { ...process.env, npm_config_manage_package_manager_versions: "false", CI: "true" };

function run(command: string, args: string[], cwd: string): void {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, env, encoding: "utf8", timeout: 180_000 });
  if (status === 0) return;
  throw new Error(`${command} ${args.slice(0, 3).join(" ")} failed. ${error ?? ""}${(stderr || stdout).slice(-800)}`);
}

/**
 * The folder of the project's langgraph.json, with its packages installed, without those that are `absent` from the
 * registry. Throws when it cannot be had.
 */
export function prepareProject(project: Project, work: string): { root: string; absent: string[] } {
  const { repository, ref, dir = "" } = project;
  const checkout = join(work, repository.replace("/", "+"), dir.replaceAll("/", "+") || "root");
  const root = join(checkout, dir);
  const note = join(checkout, ".installed");
  if (existsSync(note)) return { root, absent: readFileSync(note, "utf8").split("\n").filter(Boolean) };
  rmSync(checkout, { recursive: true, force: true });
  mkdirSync(checkout, { recursive: true });
  run("git", ["clone", "--quiet", "--no-checkout", findSource(repository), checkout], work);
  // Of a large repository only the project, and what is beside it at the root.
  if (dir) run("git", ["sparse-checkout", "set", dir], checkout);
  run("git", ["checkout", "--quiet", ref], checkout);
  usePublished(root);
  const absent: string[] = [];
  installDependencies(root, checkout, absent);
  if (isOld(root)) run("npm", RAISED, root);
  writeFileSync(note, absent.join("\n"));
  const example = join(root, ".env.example");
  if (existsSync(example) && !existsSync(join(root, ".env"))) copyFileSync(example, join(root, ".env"));
  return { root, absent };
}

type Manifest = Record<"dependencies" | "devDependencies", Record<string, string> | undefined>;

/** Changes the project's package.json of the checkout. */
function edit(root: string, change: (manifest: Manifest) => void): void {
  const file = join(root, "package.json");
  const manifest = JSON.parse(readFileSync(file, "utf8")) as Manifest;
  change(manifest);
  writeFileSync(file, JSON.stringify(manifest, null, 2));
}

/** Packages of the project's own monorepo become the published ones, as with the command that copies a template. */
function usePublished(root: string): void {
  edit(root, ({ dependencies = {}, devDependencies = {} }) => {
    for (const ranges of [dependencies, devDependencies])
      for (const [name, range] of Object.entries(ranges)) if (range.startsWith("workspace:")) ranges[name] = "*";
  });
}

const LOCKS = ["pnpm-lock.yaml", "package-lock.json", "yarn.lock"];
const PNPM = [
  "exec",
  "--yes",
  "--package=pnpm@10.20.0",
  "--",
  "pnpm",
  "install",
  "--ignore-scripts",
  "--no-frozen-lockfile",
];
/** npm reads the versions of a yarn.lock too. */
const NPM = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--replace-registry-host=always"];

/**
 * Installs the workspace around the project, if there is one, else the project's own folder: what the lock file says, or
 * where that cannot be had, the versions of the commit's day, or else the newest.
 */
function installDependencies(root: string, checkout: string, absent: string[]): void {
  const folders = [root];
  for (let at = root; at !== checkout;) folders.push((at = dirname(at)));
  const locked = folders.find((folder) => LOCKS.some((name) => existsSync(join(folder, name))));
  const folder = folders.find((one) => hasWorkspace(one, root)) ?? root;
  const before = [...NPM, `--before=${dayAfter(checkout)}`, "--no-package-lock"];
  const ways: [install: () => void, folder: string][] = [
    ...(locked ? [lockedWay(locked, folder)] : []),
    [() => run("npm", before, folder), folder],
    [() => withoutTools(root, before, absent), root],
    [() => run("npm", [...NPM, "--no-package-lock", "--force"], folder), folder],
  ];
  let failure: unknown;
  for (const [install, where] of ways) {
    try {
      return install();
    } catch (error) {
      failure = error;
      rmSync(join(where, "node_modules"), { recursive: true, force: true });
    }
  }
  throw failure;
}

/**
 * Only what the project runs with, without its development tools and without packages that the registry does not have as
 * of that day, such as those of its front end. Adds these to `absent`.
 */
function withoutTools(root: string, args: string[], absent: string[]): void {
  edit(root, (manifest) => delete manifest.devDependencies);
  for (;;) {
    try {
      return run("npm", [...args, "--workspaces=false", "--force"], root);
    } catch (error) {
      const [, name = ""] =
        /(?:No matching version found for |requested resource ')(@?[^@\s]+)@/.exec(String(error)) ?? [];
      let isOwn = false;
      edit(root, ({ dependencies = {} }) => {
        isOwn = name in dependencies;
        delete dependencies[name];
      });
      if (!isOwn) throw error;
      absent.push(name);
    }
  }
}

function lockedWay(locked: string, folder: string): [install: () => void, folder: string] {
  const isPnpm = existsSync(join(locked, "pnpm-lock.yaml"));
  return isPnpm ? [() => run("npm", PNPM, locked), locked] : [() => run("npm", NPM, folder), folder];
}

function dayAfter(checkout: string): string {
  const date = spawnSync("git", ["log", "-1", "--format=%cI"], { cwd: checkout, encoding: "utf8" }).stdout.trim();
  return new Date(Date.parse(date) + 86_400_000).toISOString().slice(0, 10);
}

/**
 * For lock files that pin LangGraph below what the build requires: the newest versions within the project's own ranges.
 */
const RAISED = ["update", "--no-audit", "--no-fund", "--ignore-scripts", "--replace-registry-host=always", "--force"];

const isOld = (root: string): boolean => /^0\.(1\.|2\.([0-9]|[1-4][0-9]|5[0-6])$)/.test(readLanggraphVersion(root));

/** The version of LangGraph that is installed. */
export function readLanggraphVersion(root: string): string {
  const require = createRequire(join(root, "package.json"));
  try {
    const file = require.resolve("@langchain/langgraph/package.json");
    return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
  } catch {
    return "";
  }
}

/** Whether the package in `folder` has the one in `root` as a workspace. */
function hasWorkspace(folder: string, root: string): boolean {
  const file = join(folder, "package.json");
  if (!existsSync(file)) return false;
  const { workspaces = [] } = JSON.parse(readFileSync(file, "utf8")) as { workspaces?: string[] };
  return workspaces.some((one) => folder !== root && root.startsWith(join(folder, one.replace(/\*.*$/, ""))));
}
