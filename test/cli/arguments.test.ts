import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readArguments, ENV } from "../../src/cli/console.ts";

it("gives the options and the folder, which is this one if left out", () => {
  expect(readArguments(["--env", "staging"], ENV)).toEqual({ values: { env: "staging" }, dir: "." });
  expect(readArguments(["apps/agent"], ENV)).toEqual({ values: {}, dir: "apps/agent" });
});

it("refuses a second folder and an unknown option", () => {
  expect(() => readArguments(["one", "two"], ENV)).toThrow('Unexpected argument "two". The command takes one folder.');
  expect(() => readArguments(["--environment", "staging"], ENV)).toThrow("Unknown option '--environment'");
});

it("prints a fault without control characters, and ends with code 1", () => {
  const main = join(import.meta.dirname, "../../src/cli/main.ts");
  const { status, stderr } = spawnSync(process.execPath, [main, "\u001b[31mred"], { encoding: "utf8" });
  expect([status, stderr.split("\n")[0]]).toEqual([1, 'There is no command "?[31mred".']);
});
