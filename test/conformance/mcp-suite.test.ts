/** `@modelcontextprotocol/conformance`, the protocol's own suite, against `/mcp`. */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startServer, type TestServer, withTestGraphs } from "../support/server.ts";

interface Check {
  id: string;
  status: string;
  errorMessage?: string;
}

/** The scenarios about what Weir has. */
const SERVED = [
  "server-initialize",
  "ping",
  "tools-list",
  "tools-call-simple-text",
  "tools-call-error",
  "tools-call-image",
  "tools-call-audio",
  "tools-call-embedded-resource",
  "tools-call-mixed-content",
  "tools-call-with-progress",
  "tools-call-with-logging",
  "logging-set-level",
  "prompts-list",
  "resources-list",
  "completion-complete",
  "dns-rebinding-protection",
];
/**
 * What the other scenarios need: a session (elicitation, subscriptions), sampling, and prompts, resources and schemas of the suite's
 * own.
 */
const NOT_OFFERED =
  /^(prompts-get|elicitation|server-sse)-|^resources-(read-text|read-binary|templates-read|subscribe|unsubscribe)$|^tools-call-(sampling|elicitation)$|^json-schema-2020-12$/;

let server: TestServer;
let results: Map<string, Check[]>;

beforeAll(async () => {
  server = await startServer({ AUTH: "open" }, withTestGraphs());
  results = await runSuite(`${server.url}/mcp`);
});
afterAll(() => server.stop());

/** The checks of each scenario, as the suite writes them. */
async function runSuite(url: string): Promise<Map<string, Check[]>> {
  const folder = mkdtempSync(join(tmpdir(), "weir-mcp-suite-"));
  const main = createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/dist/index.js");
  // The suite fails as a whole for what is not offered: its exit code says nothing.
  const child = spawn(process.execPath, [main, "server", "--url", url, "--suite", "all", "-o", folder], {
    stdio: "ignore",
  });
  await new Promise((resolve, reject) => child.on("exit", resolve).on("error", reject));
  const read = (name: string) => JSON.parse(readFileSync(join(folder, name, "checks.json"), "utf8")) as Check[];
  const scenario = (name: string) => name.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, "");
  const found = new Map(readdirSync(folder).map((name) => [scenario(name), read(name)]));
  rmSync(folder, { recursive: true });
  return found;
}

it.each(SERVED)("%s", (scenario) => {
  const checks = results.get(scenario) ?? [];
  expect(checks.length).toBeGreaterThan(0);
  expect(checks.filter(({ status }) => status !== "SUCCESS")).toEqual([]);
});

it("every other scenario is about what Weir does not offer", () => {
  const others = [...results.keys()].filter((name) => !SERVED.includes(name));
  expect(others.filter((name) => !NOT_OFFERED.test(name))).toEqual([]);
  expect(results.size).toBeGreaterThan(SERVED.length);
});
