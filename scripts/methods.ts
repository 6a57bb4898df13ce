/**
 * `npm run methods`: runs the conformance tests and writes into docs/methods.md which methods of the stock client passed.
 * A test's title begins with the methods it shows (`search, count`, `stream: errors`), its group names the client's part
 * and version. Fails when a method of the newest client has no passing test.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@langchain/langgraph-sdk";

const ROOT = join(import.meta.dirname, "..");
const PARTS = ["assistants", "threads", "runs", "crons", "store"] as const;
const OLD = "2.0.0";

interface Report {
  testResults: { name: string; assertionResults: { ancestorTitles: string[]; title: string; status: string }[] }[];
}

/** Public methods by part, as the client itself has them. */
function methods(): Record<string, string[]> {
  const client = new Client({ apiUrl: "http://localhost" });
  return Object.fromEntries(
    PARTS.map((part) => [
      part,
      Object.getOwnPropertyNames(Object.getPrototypeOf(client[part])).filter((name) => name !== "constructor"),
    ]),
  );
}

/** `part.method version` of every test that passed; a failed test takes its methods out again. */
function listShown(report: Report): Set<string> {
  const passed = new Set<string>();
  const failed = new Set<string>();
  for (const { name, assertionResults } of report.testResults) {
    for (const { ancestorTitles, title, status } of assertionResults) {
      const group = /(?:the )?(\w+) of client (\d+\.\d+\.\d+)/.exec(ancestorTitles.join(" "));
      const names = group ? (title.split(":")[0] ?? "").split(/, | and /) : [];
      // The thread-centric stream has suites of its own.
      if (/streaming[^/]*\.test\.ts$/.test(name)) (status === "passed" ? passed : failed).add(`threads.stream 1.15.0`);
      for (const method of names) (status === "passed" ? passed : failed).add(`${group?.[1]}.${method} ${group?.[2]}`);
    }
  }
  for (const key of failed) passed.delete(key);
  return passed;
}

const file = join(mkdtempSync(join(tmpdir(), "weir-")), "report.json");
const vitest = join(ROOT, "node_modules", "vitest", "vitest.mjs");
const config = ["--config", "vitest.node.config.ts", "--reporter=json", `--outputFile=${file}`];
spawnSync(process.execPath, [vitest, "run", ...config, "test/conformance"], { cwd: ROOT, stdio: "inherit" });
const passed = listShown(JSON.parse(readFileSync(file, "utf8")) as Report);

const rows: string[] = [];
const missing: string[] = [];
for (const [part, names] of Object.entries(methods())) {
  for (const name of names) {
    const mark = (version: string) => (passed.has(`${part}.${name} ${version}`) ? "✓" : "");
    if (!mark("1.15.0")) missing.push(`${part}.${name}`);
    rows.push(`| \`${part}.${name}\` | ${mark("1.15.0")} | ${mark(OLD)} |`);
  }
}
const table = ["| Method | 1.15.0 | 2.0.0 |", "|---|---|---|", ...rows].join("\n");
const page = join(ROOT, "docs", "methods.md");
const text = readFileSync(page, "utf8");
const block = `<!-- methods: npm run methods -->\n${table}\n<!-- /methods -->`;
writeFileSync(page, text.replace(/<!-- methods: npm run methods -->[\s\S]*<!-- \/methods -->/, block));
console.log(`${rows.length - missing.length} of ${rows.length} methods of the client pass.`);
if (missing.length > 0) {
  console.error(`No passing test shows: ${missing.join(", ")}.`);
  process.exitCode = 1;
}
