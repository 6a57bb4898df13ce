/**
 * `npm run compat [-- <part of a name> …]`: fetches public projects, serves each unmodified with `weir dev`, and makes a
 * complete run with the stock client against a model provider on this machine. Without arguments it writes
 * docs/compatibility.md. WEIR_COMPAT_MIRROR names a folder with the repositories, to be used instead of GitHub.
 */
import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { check } from "./check.ts";
import { prepared } from "./prepare.ts";
import { PROJECTS } from "./projects.ts";
import { startProvider } from "./provider.ts";
import { type Row, writeReport } from "./report.ts";

const WORK = process.env.WEIR_COMPAT_FOLDER ?? join(tmpdir(), "weir-compat");
mkdirSync(WORK, { recursive: true });

const wanted = process.argv.slice(2);
const chosen = PROJECTS.filter(
  ({ repository, dir = "" }) => wanted.length === 0 || wanted.some((part) => `${repository}/${dir}`.includes(part)),
);
const provider = await startProvider();
const rows: Row[] = [];
for (const project of chosen) {
  const row: Row = { project };
  try {
    row.outcome = await check(project, prepared(project, WORK), provider.url);
  } catch (error) {
    row.failure = error instanceof Error ? error.message : String(error);
  }
  rows.push(row);
  console.log(`${project.repository} ${project.dir ?? ""}\n  ${JSON.stringify(row.outcome ?? row.failure)}`);
}
provider.stop();
if (wanted.length === 0) writeReport(rows);
