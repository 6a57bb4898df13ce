/**
 * The record that the tests in workerd passed, and on what. `npm run check` and `npm test` both include these tests, and
 * the second of the two reuses the result of the first while nothing has changed.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { lstatSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Report } from "./reporter.ts";

/**
 * The environment variables that decide what the tests in workerd try, and how they report it. The tests see them, and the
 * fingerprint has them.
 */
export const SETTINGS = [
  "SEED",
  "SOAK",
  "SEQUENCES",
  "EXPORT_MATRIX",
  "FLOW_KEYS",
  "FLOW_MS",
  "FLOW_RUNS",
  "OPERATIONS",
  "CASES",
  "ONLY",
  "SHRINK",
  "LOUD",
];

/** Files that git ignores and the tests depend on: what npm installed, and the local secrets that wrangler reads. */
const IGNORED = ["node_modules/.package-lock.json", ".dev.vars"];

interface Stamp {
  fingerprint: string;
  report: Report;
}

/**
 * A hash of every file that git tracks or would track, of what is installed, of the settings of the tests and of the
 * version of Node. Undefined where git cannot list the files.
 */
export function fingerprint(root: string, env: Record<string, string | undefined> = process.env): string | undefined {
  const args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const { status, stdout } = spawnSync("git", args, { cwd: root, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  if (status !== 0) return undefined;
  const files = [...new Set(stdout.split("\0").filter(Boolean)), ...IGNORED].toSorted();
  const hash = createHash("sha256");
  const settings = SETTINGS.map((name) => [name, env[name] ?? null]);
  hash.update(JSON.stringify([process.version, process.platform, process.arch, settings]));
  for (const file of files) {
    const content = read(join(root, file));
    hash.update(JSON.stringify([file, content?.length ?? null])).update(content ?? "");
  }
  return hash.digest("hex");
}

/** The content of a file, the target of a link. Undefined if there is neither, as for a file that was deleted. */
function read(path: string): Buffer | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat?.isSymbolicLink()) return Buffer.from(`-> ${readlinkSync(path)}`);
  return stat?.isFile() ? readFileSync(path) : undefined;
}

/** The report of the last passed run, if that was on this fingerprint. */
export function passedBefore(file: string, now: string | undefined): Report | undefined {
  try {
    const { fingerprint: then, report } = JSON.parse(readFileSync(file, "utf8")) as Stamp;
    return now !== undefined && then === now && report.success ? report : undefined;
  } catch {
    return undefined;
  }
}

export function writeStamp(file: string, now: string | undefined, report: Report): void {
  if (now !== undefined) writeFileSync(file, JSON.stringify({ fingerprint: now, report } satisfies Stamp));
}
