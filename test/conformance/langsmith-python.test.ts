/**
 * Every method of the LangSmith Python SDK, unmodified: `python/langsmith_sdk.py`. It runs where `python3` (or LANGSMITH_PYTHON)
 * can import `langsmith`; PYTHONPATH may name its folder and those of its dependencies.
 */
import { execFile, execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";

const PYTHON = process.env.LANGSMITH_PYTHON ?? process.env.PYTHON ?? "python3";
const SCRIPT = join(import.meta.dirname, "python", "langsmith_sdk.py");
const env = { ...process.env, PYTHONDONTWRITEBYTECODE: "1" };

interface Result {
  client: "Client" | "AsyncClient";
  method: string;
  expected: "served" | "refused" | null;
  error: unknown;
}

/** The version that can be imported here, or why none can. */
function sdk(): { version?: string; reason: string } {
  try {
    const said = execFileSync(PYTHON, [SCRIPT, "--version"], { env, stdio: "pipe", encoding: "utf8" });
    return { version: (JSON.parse(said) as { version: string }).version, reason: "" };
  } catch (error) {
    const { stderr = String(error) } = error as { stderr?: string };
    return { reason: stderr.trim().split("\n").at(-1) ?? "it failed" };
  }
}

const { version, reason } = sdk();

it.skipIf(version === undefined)(`langsmith for Python ${version ?? `cannot be tested here: ${reason}`}`, () => {
  expect(version).toMatch(/^\d+\.\d+/);
});

describe.runIf(version !== undefined)(`langsmith for Python ${version}`, () => {
  let server: TestServer;
  let results: Result[];
  beforeAll(async () => {
    server = await sharedServer();
    const { promise, resolve } = Promise.withResolvers<string>();
    execFile(PYTHON, [SCRIPT, server.url, server.key], { env }, (_error, stdout, stderr) => resolve(stdout || stderr));
    results = (await promise)
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Result);
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
