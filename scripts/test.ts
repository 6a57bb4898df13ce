/**
 * `npm test`: every test in workerd, then every test in Node against the built Worker. What needs Chromium or the sources of
 * the Python SDKs runs where they are, and is named where they are not. With CI=true Chromium must be there, and no test may
 * be skipped. No package registry that a bare machine has carries the Python SDKs, so they are not mandatory.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buildPage } from "./build-page.ts";

const ROOT = join(import.meta.dirname, "..");
const REPORTS = join(ROOT, ".wrangler", "tests");
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const strict = process.env.CI === "true";

/** What some tests need that a machine may not have. */
const PARTS = [
  {
    tests: "test/browser/**",
    needs: `${CHROMIUM} (apt-get install chromium)`,
    isThere: () => existsSync(CHROMIUM),
    mandatory: true,
  },
  {
    tests: "test/conformance/python-sdk.test.ts",
    needs: "a python3 (or PYTHON) that can import langgraph_sdk (PYTHONPATH may name its sources)",
    isThere: () => spawnSync(process.env.PYTHON ?? "python3", ["-c", "import langgraph_sdk"]).status === 0,
    mandatory: false,
  },
  {
    tests: "test/conformance/langsmith-python.test.ts",
    needs: "a python3 (or LANGSMITH_PYTHON) that can import langsmith (PYTHONPATH may name its folders)",
    isThere: () =>
      spawnSync(process.env.LANGSMITH_PYTHON ?? process.env.PYTHON ?? "python3", ["-c", "import langsmith"]).status ===
      0,
    mandatory: false,
  },
  {
    tests: "test/docs/python-samples.test.ts",
    needs: "python3",
    isThere: () => spawnSync("python3", ["--version"]).status === 0,
    mandatory: false,
  },
];

interface Report {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  success: boolean;
}

/** Runs one vitest project and gives its totals. A run that stops before its report counts as one failure. */
function run(name: "workers" | "node", ...more: string[]): Report {
  const report = join(REPORTS, `${name}-${process.pid}.json`);
  const vitest = join(ROOT, "node_modules", "vitest", "vitest.mjs");
  const args = ["run", "--config", `vitest.${name}.config.ts`, "--reporter=default", "--reporter=json"];
  const { status } = spawnSync(process.execPath, [vitest, ...args, `--outputFile=${report}`, ...more], {
    cwd: ROOT,
    stdio: "inherit",
  });
  if (!existsSync(report)) {
    return { numPassedTests: 0, numFailedTests: 1, numPendingTests: 0, numTodoTests: 0, success: false };
  }
  const totals = JSON.parse(readFileSync(report, "utf8")) as Report;
  const success = totals.success && status === 0;
  // A file that cannot be loaded, or an error outside of any test, is in no count of tests.
  return { ...totals, success, numFailedTests: Math.max(totals.numFailedTests, success ? 0 : 1) };
}

mkdirSync(REPORTS, { recursive: true });
const absent = PARTS.filter(({ isThere }) => !isThere());
for (const { tests, needs, mandatory } of absent) {
  if (!mandatory || !strict) continue;
  console.error(`The tests in ${tests} need ${needs}.`);
  process.exit(1);
}
buildPage();
const reports = [run("workers"), run("node", ...absent.flatMap(({ tests }) => ["--exclude", tests]))];
const sum = (count: (report: Report) => number) => reports.reduce((total, report) => total + count(report), 0);
const skipped = sum(({ numPendingTests, numTodoTests }) => numPendingTests + numTodoTests);
for (const { tests, needs } of absent) console.log(`\nNot run: ${tests}. It needs ${needs}.`);
console.log(`\n${sum((r) => r.numPassedTests)} passed, ${sum((r) => r.numFailedTests)} failed, ${skipped} skipped`);
if (!reports.every(({ success }) => success) || (strict && skipped > 0)) process.exitCode = 1;
