/** docs/compatibility.md: what became of each project. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Outcome } from "./check.ts";
import type { Project } from "./projects.ts";

export interface Row {
  project: Project;
  outcome?: Outcome;
  failure?: string;
}

const FILE = join(import.meta.dirname, "..", "..", "docs", "compatibility.md");
const BEGIN = "<!-- table: npm run compat -->";
const END = "<!-- end of table -->";

/** Replaces the table in the document. */
export function writeReport(rows: Row[]): void {
  const [before = "", rest = ""] = readFileSync(FILE, "utf8").split(BEGIN);
  const after = rest.split(END)[1] ?? "";
  const complete = rows.filter(isComplete).length;
  const table = [
    `${complete} of ${rows.length} projects make complete runs.`,
    "",
    "| project | LangGraph | graphs run | result |",
    "| --- | --- | --- | --- |",
    ...rows.map(line),
  ];
  writeFileSync(FILE, `${before}${BEGIN}\n\n${table.join("\n")}\n\n${END}${after}`);
}

const isComplete = ({ outcome }: Row): boolean =>
  outcome !== undefined && Object.values(outcome.graphs).every(({ error }) => error === undefined);

function line(row: Row): string {
  const { project, outcome } = row;
  const { repository, ref, dir = "" } = project;
  const link = `[${repository}${dir && ` ${dir}`}](https://github.com/${repository}/tree/${ref}/${dir})`;
  const graphs = Object.keys(outcome?.graphs ?? {}).map((graph) => `\`${graph}\``);
  return `| ${link} | ${outcome?.langgraph ?? ""} | ${graphs.join(", ")} | ${describeResult(row)} |`;
}

function describeResult(row: Row): string {
  const { project, outcome, failure } = row;
  if (isComplete(row)) {
    const paused = Object.values(outcome?.graphs ?? {}).some(({ status }) => status === "interrupted");
    return paused ? "runs, and pauses for an answer" : "runs";
  }
  const error = failure ?? Object.values(outcome?.graphs ?? {}).find((one) => one.error)?.error ?? "";
  if (project.impossible) return `not possible in a Worker: ${project.impossible}`;
  return project.needs
    ? `needs its own backend: ${project.needs}`
    : `does not run: ${headline(error).replaceAll("|", "\\|").slice(0, 200)}`;
}

/** Of several lines the first that says what is wrong. */
function headline(error: string): string {
  const lines = error.split("\n").filter((line) => line.trim());
  return lines.find((line) => /error/i.test(line)) ?? lines[0] ?? "";
}
