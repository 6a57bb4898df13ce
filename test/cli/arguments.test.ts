import { expect, it } from "vitest";
import { argumentsOf, ENV } from "../../src/cli/arguments.ts";

it("gives the options and the folder, which is this one if left out", () => {
  expect(argumentsOf(["--env", "staging"], ENV)).toEqual({ values: { env: "staging" }, dir: "." });
  expect(argumentsOf(["apps/agent"], ENV)).toEqual({ values: {}, dir: "apps/agent" });
});

it("refuses a second folder and an unknown option", () => {
  expect(() => argumentsOf(["one", "two"], ENV)).toThrow('Unexpected argument "two". The command takes one folder.');
  expect(() => argumentsOf(["--environment", "staging"], ENV)).toThrow("Unknown option '--environment'");
});
