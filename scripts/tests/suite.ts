/** The suites: `workers` runs in workerd, `node` in Node against the built Worker, `python` in Python against the built Worker. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Report } from "./reporter.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const REPORTS = join(ROOT, ".wrangler", "tests");

const ARGS = {
  workers: ["--config", "vitest.workers.config.ts", "--reporter=default"],
  node: ["--config", "vitest.node.config.ts", "--project=!python", "--reporter=default"],
  python: ["--config", "vitest.node.config.ts", "--project=python", "--reporter=verbose"],
};

/** Runs one suite with these variables and gives its totals. A run that stops before its report counts as one failure. */
export function runSuite(name: keyof typeof ARGS, env: Record<string, string> = {}): Report {
  mkdirSync(REPORTS, { recursive: true });
  const report = join(REPORTS, `${name}-${process.pid}.json`);
  const vitest = join(ROOT, "node_modules", "vitest", "vitest.mjs");
  const reporter = join(import.meta.dirname, "reporter.ts");
  const { status } = spawnSync(process.execPath, [vitest, "run", ...ARGS[name], `--reporter=${reporter}`], {
    cwd: ROOT,
    stdio: "inherit",
    env: { ...process.env, ...env, TEST_REPORT: report },
  });
  if (!existsSync(report))
    return { passed: 0, failed: 1, skipped: 0, success: false, files: [], repeated: [], failures: [] };
  const totals = JSON.parse(readFileSync(report, "utf8")) as Report;
  const success = totals.success && status === 0;
  return { ...totals, success, failed: Math.max(totals.failed, success ? 0 : 1) };
}
