/** What is logged of a fault. */
import { DrizzleQueryError } from "drizzle-orm/errors";
import { expect, it, vi } from "vitest";
import { logError } from "../../src/lib/log.ts";

it("has the query that failed and the stack, and none of the query's values", () => {
  const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
  logError(new DrizzleQueryError("update t set a = ?", ["secret,\n    at home", "v1.sealed"], new Error("lost")));
  logError(new Error("Failed query: select ?\nparams: secret"));
  const lines = log.mock.calls.flat().join("\n");
  log.mockRestore();
  expect(lines).toContain("update t set a = ?");
  expect(lines).toMatch(/\\n {4}at .*log\.test\.ts/);
  expect(lines).not.toMatch(/secret|sealed/);
});
