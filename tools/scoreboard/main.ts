/**
 * `npm run scoreboard`: runs the tests of each public client and suite and writes docs/scoreboard.md from Vitest's reports. Fails
 * when a case fails. It needs test/python/setup.sh.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { renderSection } from "./measured-suites.ts";

const ROOT = join(import.meta.dirname, "../..");

interface Entry {
  /** What the tests use. */
  client: string;
  /** Its name in package.json, which says its version. */
  dependency?: string;
  /** Folders and files of its tests. */
  files: string[];
  /** Which of their cases are its own; all if left out. */
  cases?: RegExp;
  note?: string;
}

const SDK_FILES = ["assistants", "crons", "feedback", "run-methods", "runs", "store", "streaming", "threads"];
const sdkFiles = SDK_FILES.map((name) => `test/conformance/${name}.test.ts`);
const ofSdk = (version: string) => new RegExp(`(?:client|langgraph-sdk|SDK) ${version.replaceAll(".", "\\.")}`);

const ENTRIES: Entry[] = [
  { client: "LangGraph SDK (JavaScript)", dependency: "langgraph-sdk-2-0", files: sdkFiles, cases: ofSdk("2.0.0") },
  {
    client: "LangGraph SDK (JavaScript)",
    dependency: "@langchain/langgraph-sdk",
    files: sdkFiles,
    cases: ofSdk("1.15.0"),
  },
  { client: "LangGraph SDK (JavaScript)", dependency: "langgraph-sdk-1-11", files: sdkFiles, cases: ofSdk("1.11.0") },
  { client: "LangGraph SDK (Python)", files: ["test/python/langgraph-sdk.test.ts"] },
  {
    client: "`useStream` (React)",
    dependency: "@langchain/react",
    files: ["test/conformance/streaming-react.slow.test.ts"],
  },
  {
    client: "fifty streaming clients at once",
    files: ["test/conformance/many-streams.test.ts"],
    note: "SDK 2.0.0, 1.15.0 and 1.11.0, over SSE and WebSockets.",
  },
  { client: "A2A SDK", dependency: "@a2a-js/sdk", files: ["test/conformance/a2a.test.ts"], cases: /@a2a-js\/sdk 1\./ },
  { client: "A2A SDK", dependency: "a2a-sdk-0-3", files: ["test/conformance/a2a.test.ts"], cases: /@a2a-js\/sdk 0\.3/ },
  {
    client: "agent-chat-ui and deep-agents-ui",
    files: ["test/conformance/chat-uis.slow.test.ts"],
    note: "Their calls, by useStream of SDK 1.11.0 and 1.15.0. Marking a thread as resolved leaves its interrupt, as LangGraph.js does.",
  },
  {
    client: "agent-protocol's `streaming/protocol.cddl`",
    files: [
      "test/protocols/streaming/protocol.slow.test.ts",
      "test/protocols/streaming/socket.test.ts",
      "test/protocols/streaming/application.slow.test.ts",
    ],
    note: "Each event that a case reads is checked; what differs is in compatibility.md.",
  },
  { client: "AG-UI client", dependency: "@ag-ui/client", files: ["test/conformance/agui.test.ts"] },
  {
    client: "MCP SDK, second generation",
    dependency: "@modelcontextprotocol/client",
    files: ["test/protocols/mcp/versions.test.ts"],
    note: "Protocol version 2026-07-28 and the versions before it.",
  },
  {
    client: "MCP SDK, first generation",
    dependency: "@modelcontextprotocol/sdk",
    files: ["test/protocols/mcp/tools.test.ts", "test/conformance/mcp-oauth.test.ts"],
  },
  {
    client: "MCP conformance suite",
    dependency: "@modelcontextprotocol/conformance",
    files: ["test/conformance/mcp-suite.slow.test.ts"],
    note: "A case runs all scenarios; those of the table below do not apply.",
  },
  { client: "oauth4webapi", dependency: "oauth4webapi", files: ["test/conformance/oauth4webapi.test.ts"] },
  {
    client: "LangSmith SDK (JavaScript)",
    dependency: "langsmith",
    files: ["test/conformance/traces.test.ts", "test/conformance/feedback.test.ts", "test/conformance/otlp.test.ts"],
    cases: /traces\.test|LangSmith/,
  },
  {
    client: "OpenTelemetry exporters (JSON, protobuf)",
    dependency: "@opentelemetry/exporter-trace-otlp-http",
    files: ["test/conformance/otlp.test.ts"],
    cases: /stock exporters/,
  },
  {
    client: "LangGraph checkpointer validation",
    dependency: "@langchain/langgraph-checkpoint-validation",
    files: ["test/runtime/checkpoint-validation.test.ts"],
    note: "One case counts as passed because it fails as expected: a checkpoint without a parent stores all values that it is given, as LangGraph's own savers for memory and SQLite do. Deleting a thread through its checkpointer is left out.",
  },
];

interface Case {
  /** The file, the groups and the title. */
  name: string;
  status: string;
  reason: string;
}
interface Report {
  testResults: {
    name: string;
    message: string;
    assertionResults: { ancestorTitles: string[]; title: string; status: string; failureMessages: string[] }[];
  }[];
}

/** Runs the tests in these files. A file that cannot be loaded is one failed case. */
function run(project: "workers" | "node", files: string[]): Case[] {
  const folder = mkdtempSync(join(tmpdir(), "weir-scoreboard-"));
  const file = join(folder, "report.json");
  const vitest = join(ROOT, "node_modules", "vitest", "vitest.mjs");
  const args = ["run", "--config", `vitest.${project}.config.ts`, "--reporter=default", "--reporter=json"];
  spawnSync(process.execPath, [vitest, ...args, `--outputFile=${file}`, ...files], {
    cwd: ROOT,
    stdio: "inherit",
    env: { ...process.env, ALL_TESTS: "true" },
  });
  const { testResults } = JSON.parse(readFileSync(file, "utf8")) as Report;
  rmSync(folder, { recursive: true });
  return testResults.flatMap(({ name, message, assertionResults }) => {
    const path = name.slice(ROOT.length + 1);
    if (assertionResults.length === 0) return [{ name: path, status: "failed", reason: message }];
    return assertionResults.map(({ ancestorTitles, title, status, failureMessages }) => ({
      name: [path, ...ancestorTitles, title].join(" > "),
      status,
      reason: failureMessages[0] ?? "",
    }));
  });
}

const listVersions = (folder: string) =>
  (JSON.parse(readFileSync(join(ROOT, folder, "package.json"), "utf8")) as { devDependencies: Record<string, string> })
    .devDependencies;
const versions: Record<string, string> = { ...listVersions(""), ...listVersions("test/conformance") };
/** `npm:` names another package than the dependency's own name. */
const readVersion = (dependency: string) => (versions[dependency] ?? "").replace(/^npm:.*@/, "");

const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll(/\s*\n\s*/g, " ");
/** The Python SDK's version is in the titles of its cases. */
const findTitle = (cases: Case[]) => cases.map(({ name }) => /> (\d+\.\d+[^ :]*)[^>]*:/.exec(name)?.[1]).find(Boolean);

function formatRow({ client, dependency, files, cases, note = "" }: Entry, all: Case[]): string {
  const own = all.filter(({ name }) => files.some((file) => name.startsWith(file)) && (cases?.test(name) ?? true));
  const count = (...states: string[]) => own.filter(({ status }) => states.includes(status)).length;
  const skipped = own.filter(({ status }) => status !== "passed" && status !== "failed");
  const reasons = [
    note,
    ...own.filter(({ status }) => status === "failed").map(({ name, reason }) => `${name}: ${reason.split("\n")[0]}`),
    ...skipped.map(({ name }) => `Not run: ${name.split(" > ").at(-1)}.`),
  ];
  const version = dependency === undefined ? (findTitle(own) ?? "") : readVersion(dependency);
  const numbers = [count("passed", "failed"), count("passed"), count("failed")];
  return `| ${[client, version, ...numbers, cell(reasons.filter(Boolean).join(" "))].join(" | ")} |`;
}

const files = [...new Set(ENTRIES.flatMap((entry) => entry.files))];
const inNode = files.filter((file) => /^test\/(conformance|python)\//.test(file));
const inWorkers = files.filter((file) => !inNode.includes(file));
const all = [...run("workers", inWorkers), ...run("node", inNode)];
const rows = ENTRIES.map((entry) => formatRow(entry, all));
const page = `# Scoreboard

Public clients and suites, unmodified, against this server. \`npm run scoreboard\` runs their tests and writes this page from the reports;
\`npm run test:all\` runs the same tests. Each method of the LangGraph SDK has a test in
[test/conformance](../test/conformance).

| Client or suite | Version | Cases | Passed | Failed | Remarks |
|---|---|---|---|---|---|
${rows.join("\n")}

${renderSection()}`;
const path = join(ROOT, "docs", "scoreboard.md");
writeFileSync(path, page);
spawnSync(join(ROOT, "node_modules", ".bin", "oxfmt"), [path], { stdio: "inherit" });
const failed = all.filter(({ status }) => status === "failed").length;
console.log(`${all.length} cases, ${failed} failed. Written to docs/scoreboard.md.`);
if (failed > 0) process.exitCode = 1;
