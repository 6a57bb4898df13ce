/** Workloads of real clients, sent at once: everything that was sent is there (load/). */
import { afterAll, beforeAll, expect, it, onTestFailed } from "vitest";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";
import { askDriver, Driver, printLogs } from "./support/driver.ts";

const driver = new Driver();
const cases = askDriver(["-m", "load", "--list"]) as string[];
let server: TestServer;
let failed = false;
beforeAll(async () => {
  server = await sharedServer("graphs");
  await driver.run(["-m", "load", "--url", server.url, "--key", server.key]);
}, 600_000);
afterAll(async () => {
  if (failed) printLogs({ load: driver.log });
  await server.stop();
});

it.each(cases)("%s", (name) => {
  onTestFailed(() => void (failed = true));
  expect(() => driver.demandPassed(name)).not.toThrow();
});
