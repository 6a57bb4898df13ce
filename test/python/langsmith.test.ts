/** Every method of the LangSmith SDK for Python, unmodified: sdk/langsmith_checks.py. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";
import { askDriver, runScript } from "./support/driver.ts";

const SCRIPT = "sdk/langsmith_checks.py";
const { version } = askDriver([SCRIPT, "--version"]) as { version: string };

interface Result {
  client: "Client" | "AsyncClient";
  method: string;
  expected: "served" | "refused" | null;
  error: unknown;
}

describe(`langsmith for Python ${version}`, () => {
  let server: TestServer;
  let results: Result[];
  beforeAll(async () => {
    server = await sharedServer("graphs");
    results = await runScript<Result>([SCRIPT, server.url, server.key]);
  }, 600_000);
  afterAll(() => server.stop());

  const listFailed = (client: string, expected: Result["expected"]) =>
    results.filter((one) => one.client === client && one.expected === expected && one.error !== null);
  const count = (client: string, expected: Result["expected"]) =>
    results.filter((one) => one.client === client && one.expected === expected).length;

  describe.each(["Client", "AsyncClient"])("%s", (client) => {
    it("has no method that this test does not know", () => {
      expect(listFailed(client, null)).toMatchObject([{ method: "methods", error: [] }]);
    });

    it("has each served method answered", () => {
      expect(count(client, "served")).toBeGreaterThan(20);
      expect(listFailed(client, "served")).toEqual([]);
    });

    it("has each other method refused with 501 and the page that lists the calls", () => {
      expect(count(client, "refused")).toBeGreaterThanOrEqual(10);
      expect(listFailed(client, "refused")).toEqual([]);
    });
  });
});
