/** The totals that `npm test` prints and decides by. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Report, createReport } from "../../scripts/tests/reporter.ts";

const ROOT = join(import.meta.dirname, "..", "..");
let folder: string;
beforeAll(() => {
  // Below the repository, so that `vitest` is found.
  mkdirSync(join(ROOT, ".wrangler"), { recursive: true });
  folder = mkdtempSync(join(ROOT, ".wrangler", "report-"));
  writeFileSync(join(folder, "vitest.config.mjs"), "export default {};");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function report(files: Record<string, string>): Report {
  for (const [name, code] of Object.entries(files)) {
    writeFileSync(join(folder, name), `import { it } from "vitest";\n${code}`);
  }
  const vitest = join(ROOT, "node_modules", "vitest", "vitest.mjs");
  const reporter = join(ROOT, "scripts", "tests", "reporter.ts");
  const output = join(folder, "report.json");
  const args = ["run", "--root", folder, `--reporter=${reporter}`];
  spawnSync(process.execPath, [vitest, ...args], { env: { ...process.env, TEST_REPORT: output } });
  for (const name of Object.keys(files)) rmSync(join(folder, name));
  return JSON.parse(readFileSync(output, "utf8")) as Report;
}

it("counts tests by their outcome, and names each file with its time", () => {
  const tests = `it("a", () => {});\nit.skip("b", () => {});\nit.todo("c");\nit.fails("d", () => { throw new Error("d"); });`;
  const { files, ...totals } = report({ "good.test.ts": tests });
  expect(totals).toEqual({ passed: 2, failed: 0, skipped: 2, success: true, repeated: [], failures: [] });
  expect(files).toEqual([{ name: "good.test.ts", ms: expect.any(Number) }]);
});

it("counts a failure for a file that cannot be loaded", () => {
  const files = { "good.test.ts": `it("a", () => {});`, "bad.test.ts": `import "./missing.ts";` };
  expect(report(files)).toMatchObject({
    passed: 1,
    failed: 1,
    success: false,
    failures: [{ name: "bad.test.ts", errors: [expect.stringContaining("missing.ts")] }],
  });
});

it("names each test that failed, with its error and the difference", () => {
  const code = `import { describe, expect } from "vitest";\ndescribe("part", () => { it("a", () => expect(1).toBe(2)); });`;
  const { failures } = report({ "bad.test.ts": code });
  expect(failures).toMatchObject([{ name: "bad.test.ts > part > a" }]);
  expect(failures[0]?.errors[0]).toMatch(/expected 1 to be 2[\s\S]*- 2[\s\S]*\+ 1[\s\S]*bad\.test\.ts:3/u);
});

it("names what passed at the second attempt", () => {
  const code = `let n = 0;\nit("a", { retry: 1 }, () => { if (n++ === 0) throw new Error("once"); });`;
  expect(report({ "good.test.ts": code })).toMatchObject({ passed: 1, success: true, repeated: ["good.test.ts > a"] });
});

it("counts a failure for an error outside of any test, and for a run that was interrupted", () => {
  expect(createReport([], [], "passed")).toMatchObject({ failed: 0, success: true });
  expect(createReport([], [new Error("late")], "passed")).toMatchObject({
    failed: 1,
    success: false,
    failures: [{ errors: [expect.stringContaining("late")] }],
  });
  expect(createReport([], [], "interrupted")).toMatchObject({ failed: 1, success: false });
});
