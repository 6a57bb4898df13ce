/**
 * `npm test`: the tests in workerd, then those in Node against the built Worker, without the slow files. `npm run test:all`
 * (ALL_TESTS=true) has all files and all cases. What needs Chromium runs where it is, and is
 * named where it is not. With CI=true it must be there, and no test may be skipped. `npm run test:python` has the tests with
 * clients in Python.
 */
import { CHROMIUM, CHROMIUM_NEEDED } from "../test/support/chromium.ts";
import { buildPage } from "./build-page.ts";
import type { Report } from "./tests/reporter.ts";
import { runSuite } from "./tests/suite.ts";

/** Characters of a failure's errors that the summary repeats. */
const ERROR_LENGTH = 2_000;

const strict = process.env.CI === "true";

/** What some tests need that a machine may not have. */
const PARTS = [
  {
    tests: "test/browser/**",
    needs: CHROMIUM_NEEDED,
    isThere: () => CHROMIUM !== undefined,
  },
];

function runNode(): Report {
  buildPage();
  return runSuite("node", { TEST_EXCLUDE: absent.map(({ tests }) => tests).join(" ") });
}

const absent = PARTS.filter(({ isThere }) => !isThere());
for (const { tests, needs } of absent) {
  if (!strict) continue;
  console.error(`The tests in ${tests} need ${needs}.`);
  process.exit(1);
}
const reports = [runSuite("workers"), runNode()];
const sum = (count: (report: Report) => number) => reports.reduce((total, report) => total + count(report), 0);
const skipped = sum((report) => report.skipped);
const slowest = reports.flatMap(({ files }) => files).toSorted((a, b) => b.ms - a.ms);
console.log("\nThe slowest files:");
for (const { name, ms } of slowest.slice(0, 10)) console.log(`${(ms / 1_000).toFixed(1).padStart(7)} s  ${name}`);
for (const { tests, needs } of absent) console.log(`\nNot run: ${tests}. It needs ${needs}.`);
for (const name of reports.flatMap(({ repeated }) => repeated)) console.log(`\nPassed at the second attempt: ${name}`);
// The end of a log is often all that a CI server keeps.
for (const { name, errors } of reports.flatMap(({ failures }) => failures)) {
  console.log(`\nFailed: ${name}\n${errors.join("\n").slice(0, ERROR_LENGTH)}`);
}
console.log(`\n${sum((r) => r.passed)} passed, ${sum((r) => r.failed)} failed, ${skipped} skipped`);
if (!reports.every(({ success }) => success) || (strict && skipped > 0)) process.exitCode = 1;
