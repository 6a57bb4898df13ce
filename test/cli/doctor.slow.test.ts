import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { checkVersions, nodeFinding, run, missingExports } from "../../src/cli/doctor.ts";
import { installedVersion, satisfies, PEERS } from "../../src/cli/project/package.ts";
import { findProject } from "../../src/cli/project/project.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "weir-doctor-"));
  vi.stubEnv("HOME", root);
  vi.stubEnv("XDG_CONFIG_HOME", root);
  vi.stubEnv("CLOUDFLARE_API_TOKEN", undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  rmSync(root, { recursive: true, force: true });
});

function write(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
}

/** Runs the command on the project, and gives its exit code and what it printed. */
async function doctor(...argv: string[]): Promise<{ code: number; said: string }> {
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  const code = await run([root, ...argv]);
  const said = log.mock.calls.flat().join("\n");
  log.mockRestore();
  return { code, said };
}

/** A project whose only graph needs no package, with the peers at the oldest version that is allowed. */
const GOOD = {
  "package.json": '{"name": "agent"}',
  "langgraph.json": '{"graphs": {"agent": "./agent.ts:graph"}}',
  "agent.ts": "export const graph = { invoke() {}, stream() {} };",
};

test.each<[string, Record<string, string | undefined>, RegExp, ...string[]]>([
  ["no langgraph.json", { "langgraph.json": undefined }, /FAILED {2}langgraph.json\n +There is no langgraph.json/],
  ["a langgraph.json that is no JSON", { "langgraph.json": "{" }, /FAILED {2}langgraph.json\n.*langgraph.json: /],
  ["a graph whose file is missing", { "agent.ts": undefined }, /names \.\/agent\.ts, which does not exist/],
  [
    "an export that the graph's file does not have",
    { "agent.ts": "export const graf = 1; const x = 2; export { x as default };" },
    /names the export "graph" of \.\/agent\.ts, which exports default, graf\./,
  ],
  [
    "a graph that is Python",
    { "langgraph.json": '{"graphs": {"agent": {"path": "./agent.py:graph"}}}' },
    /FAILED {2}langgraph.json\n.*"graphs.agent" is "\.\/agent\.py:graph", which is Python\. .* RemoteGraph/,
  ],
  [
    "a binding of Weir's that is declared again",
    {
      "wrangler.jsonc":
        '{"name": "agent", "durable_objects": {"bindings": [{"name": "THREAD", "class_name": "Mine"}]}}',
    },
    /FAILED {2}wrangler configuration\n.*"THREAD", which Weir has too/,
  ],
  [
    "a name that R2 does not take",
    { "wrangler.jsonc": '{"name": "my_agent"}' },
    /FAILED {2}wrangler configuration\n.*"my_agent" cannot name a deployment/,
  ],
  [
    "an environment that is missing",
    { "wrangler.jsonc": '{"name": "agent"}' },
    /no environment "staging"/,
    "--env",
    "staging",
  ],
])("%s is a failed check that says what to do", async (_, change, sentence, ...argv) => {
  const files = Object.entries({ ...GOOD, ...change }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  write(Object.fromEntries(files));
  const { code, said } = await doctor(...argv);
  expect(said).toMatch(sentence);
  expect(code).toBe(1);
});

test.each([
  ["export * from './other.ts';", "re-exported"],
  ["module.exports = { graph: {} };", "CommonJS"],
  ["export const graph = 1;", "there"],
])("an export in %j may be there: %s", async (text) => {
  write({ ...GOOD, "agent.ts": text });
  expect(await missingExports(await findProject(root))).toEqual([]);
});

test("a missing login is named, and is no failure", async () => {
  write({ "langgraph.json": "{" });
  expect((await doctor()).said).toMatch(/No Cloudflare account: Not logged in to Cloudflare. Run `npx wrangler login`/);
});

test("an old Node is refused", () => {
  expect(nodeFinding("18.20.1").fault).toMatch(/Weir needs Node >=\d+.*nodejs\.org/);
  expect(nodeFinding(process.versions.node).fault).toBeUndefined();
});

test("a package that a peer needs and the project lacks stops a deploy", async () => {
  write(GOOD);
  const project = await findProject(root);
  PEERS["@weir-test/absent"] = ">=1 <2";
  try {
    expect(() => checkVersions(project)).toThrow(
      "@weir-test/absent: It is not installed. Run: npm install @weir-test/absent",
    );
    write({ "node_modules/@weir-test/absent/package.json": '{"version": "2.1.0"}' });
    expect(() => checkVersions(project)).toThrow(/@weir-test\/absent 2.1.0: Weir runs with >=1 <2/);
  } finally {
    delete PEERS["@weir-test/absent"];
  }
});

test("a package is found where Node finds it, above the project too", () => {
  write({ "node_modules/a/package.json": '{"version": "1.0.0"}' });
  expect(installedVersion(join(root, "packages", "agent"), "a")).toBe("1.0.0");
  expect(installedVersion(root, "weir-test-absent")).toBeUndefined();
});

test.each([
  ["1.2.13", ">=1.0.0 <2", true],
  ["2.0.0", ">=1.0.0 <2", false],
  ["2.0.0-rc.1", ">=1 <2", false],
  ["0.2.56", ">=0.2.57 <2", false],
  ["0.3.80", ">=0.2.57 <0.4 || ^1.0.0", true],
  ["1.9.0", "^1.2.0", true],
  ["0.3.1", "^0.2.57", false],
  ["1.4.9", "~1.4.2", true],
  ["1.5.0", "~1.4.2", false],
  ["1.2.3", "1.2.3", true],
])("%s in %s: %s", (version, range, expected) => {
  expect(satisfies(version, range)).toBe(expected);
});
