/** A reporter of vitest: writes the totals of a run, its failures and the time of each file as JSON to the file in TEST_REPORT. */
import { writeFileSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import type { Reporter, TestCase, TestModule, Vitest } from "vitest/node";

export interface Report {
  passed: number;
  failed: number;
  /** Skipped, to do, or never run. */
  skipped: number;
  /** No test failed, every file was loaded, and no error came outside of a test. */
  success: boolean;
  /** Each test file with the milliseconds of its tests and hooks. */
  files: { name: string; ms: number }[];
  /** Tests that passed at the second attempt. */
  repeated: string[];
  /** Each test and each file that failed, with its errors. */
  failures: { name: string; errors: string[] }[];
}

interface Failure {
  stack?: string | undefined;
  message?: string | undefined;
  diff?: string | undefined;
}

function printError({ stack, message, diff }: Failure): string {
  return stripVTControlCharacters([message, diff, stack].filter(Boolean).join("\n"));
}

const nameTest = (module: TestModule, test: TestCase) => `${module.relativeModuleId} > ${test.fullName}`;

function collectFailures(modules: readonly TestModule[], errors: readonly unknown[]): Report["failures"] {
  const failures = modules.flatMap((module) => {
    const file = module.relativeModuleId;
    const tests = [...module.children.allTests("failed")].map((test) => ({
      name: nameTest(module, test),
      errors: (test.result().errors ?? []).map(printError),
    }));
    const outside = [module, ...module.children.allSuites()].flatMap((part) => part.errors()).map(printError);
    return outside.length === 0 ? tests : [...tests, { name: file, errors: outside }];
  });
  const rest = errors.map((error) => printError(error as Failure));
  return rest.length === 0 ? failures : [...failures, { name: "outside of any test", errors: rest }];
}

export function createReport(modules: readonly TestModule[], errors: readonly unknown[], reason: string): Report {
  const states = modules.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state));
  const count = (...wanted: string[]) => states.filter((state) => wanted.includes(state)).length;
  const success =
    reason === "passed" &&
    errors.length === 0 &&
    modules.every((module) => ["passed", "skipped"].includes(module.state()));
  return {
    passed: count("passed"),
    // A file that cannot be loaded, or an error outside of any test, is in no count of tests.
    failed: Math.max(count("failed"), success ? 0 : 1),
    skipped: count("skipped", "pending"),
    success,
    files: modules.map((module) => ({ name: module.relativeModuleId, ms: Math.round(module.diagnostic().duration) })),
    repeated: modules.flatMap((module) =>
      [...module.children.allTests("passed")]
        .filter((test) => test.diagnostic()?.flaky)
        .map((test) => nameTest(module, test)),
    ),
    failures: collectFailures(modules, errors),
  };
}

/** Milliseconds after the end of the last file. A worker in workerd that is closed may not answer, and Vitest waits for it without a limit. */
const CLOSE_MS = 120_000;

export default class implements Reporter {
  #vitest: Vitest | undefined;
  #left = 0;
  #closing: ReturnType<typeof setTimeout> | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunStart(specifications: readonly unknown[]): void {
    this.#left = specifications.length;
  }

  onTestModuleEnd(): void {
    this.#left -= 1;
    if (this.#left === 0) this.#closing = setTimeout(() => this.#stop(), CLOSE_MS);
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[], reason: string): void {
    clearTimeout(this.#closing);
    writeReport(createReport(modules, errors, reason));
  }

  #stop(): void {
    console.error("All files have ended, but a worker of Vitest has not. It is stopped.");
    const { state } = this.#vitest as Vitest;
    const report = createReport(state.getTestModules(), state.getUnhandledErrors(), "passed");
    writeReport(report);
    process.exit(report.success ? 0 : 1);
  }
}

function writeReport(report: Report): void {
  const file = process.env.TEST_REPORT;
  if (file) writeFileSync(file, JSON.stringify(report));
}
