#!/usr/bin/env node
/** `npm create weir [dir]`: copies the starter into a new folder and installs its packages. */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const USAGE = `npm create weir [dir] [-- --name <name>] [-- --no-install]

Makes a project with an agent in dir (default: my-agent).

  --name <name>  what the deployment is called; the folder's name if left out
  --no-install   does not install the packages`;

const HERE = dirname(fileURLToPath(import.meta.url));
const TEMPLATE = join(HERE, "template");

/** An error of the person at the terminal: printed without a stack. */
class Fault extends Error {}

/**
 * @param {string} text
 * @returns {string} The name of a Worker: lower-case letters, digits and hyphens, at most 48.
 */
function workerName(text) {
  const plain = text.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  return plain.slice(0, 48).replace(/^-+|-+$/g, "") || "my-agent";
}

/**
 * Copies the starter and gives it its name.
 * @param {string} target
 * @param {string} name
 */
function copy(target, name) {
  cpSync(TEMPLATE, target, { recursive: true });
  renameSync(join(target, "gitignore"), join(target, ".gitignore"));
  cpSync(join(target, ".env.example"), join(target, ".env"));
  const manifest = join(target, "package.json");
  writeFileSync(manifest, `${JSON.stringify({ ...JSON.parse(readFileSync(manifest, "utf8")), name }, null, 2)}\n`);
  // The resources are named after the deployment, so the file needs no more than its name.
  const wrangler = join(target, "wrangler.jsonc");
  const [own = ""] = readFileSync(wrangler, "utf8").split("  // The deploy button");
  writeFileSync(wrangler, `${own.trimEnd().replace(/,$/, "").replace('"weir-starter"', JSON.stringify(name))}\n}\n`);
}

/** Throws when Node is older than package.json says: `>=<major>.<minor>`. */
function checkNode() {
  const { engines } = JSON.parse(readFileSync(join(HERE, "package.json"), "utf8"));
  const { node } = process.versions;
  const [major = 0, minor = 0] = node.split(".").map(Number);
  const [least = 0, leastMinor = 0] = engines.node.slice(2).split(".").map(Number);
  if (major > least || (major === least && minor >= leastMinor)) return;
  throw new Fault(
    `Weir needs Node ${engines.node}. This is Node ${node}. Install a newer one from https://nodejs.org.`,
  );
}

/** @param {string[]} argv */
function main(argv) {
  checkNode();
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    allowNegative: true,
    options: { name: { type: "string" }, install: { type: "boolean", default: true }, help: { type: "boolean" } },
  });
  if (values.help) return console.log(USAGE);
  const target = resolve(positionals[0] ?? "my-agent");
  if (existsSync(target) && readdirSync(target).length > 0) {
    throw new Fault(`${target} is not empty. Name another folder: npm create weir <dir>`);
  }
  copy(target, workerName(values.name ?? basename(target)));
  if (values.install) {
    const { status } = spawnSync("npm", ["install", "--no-audit", "--no-fund"], {
      cwd: target,
      stdio: "inherit",
      shell: process.platform === "win32",
    });
    if (status !== 0) throw new Fault(`The packages were not installed. Run npm install in ${target}.`);
  }
  const folder = relative(process.cwd(), target);
  const steps = [folder && `cd ${folder}`, !values.install && "npm install", "npm run dev"].filter(Boolean);
  console.log(`\n  Your agent is in ${target}.\n\n${steps.map((step) => `    ${String(step)}`).join("\n")}\n`);
}

try {
  main(process.argv.slice(2));
} catch (error) {
  const known =
    error instanceof Fault ||
    (error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS"));
  if (!known) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
