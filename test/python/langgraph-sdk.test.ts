/** The LangGraph SDK for Python, unmodified: sdk/langgraph_sdk_checks.py. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";
import { askDriver, Driver } from "./support/driver.ts";

const SCRIPT = "sdk/langgraph_sdk_checks.py";
const { version, checks } = askDriver([SCRIPT, "--version"]) as { version: string; checks: string[] };

describe("the LangGraph SDK for Python", () => {
  const driver = new Driver();
  let server: TestServer;
  beforeAll(async () => {
    server = await sharedServer("graphs");
    await driver.run([SCRIPT, server.url, server.key]);
  }, 600_000);
  afterAll(() => server.stop());

  it.each(checks)(`${version}: %s`, (check) => {
    expect(() => driver.demandPassed(check)).not.toThrow();
  });
});
