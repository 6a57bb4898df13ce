/**
 * `npm run compat [-- <part of a name> …]`: fetches public projects, serves each unmodified with `weir dev`, and makes a
 * complete run with the stock client against a model provider on this machine. Writes
 * docs/compatibility.md. WEIR_COMPAT_MIRROR names a folder with the repositories, to be used instead of GitHub.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { check } from "./check.ts";
import { prepareProject } from "./prepare.ts";
import { type Project, PROJECTS } from "./projects.ts";
import { startProvider } from "./provider.ts";
import { type Row, writeReport } from "./report.ts";

const WORK = process.env.WEIR_COMPAT_FOLDER ?? join(tmpdir(), "weir-compat");
const RESULTS = join(WORK, "results.json");
const nameProject = ({ repository, dir = "" }: Project): string => `${repository}/${dir}`;
mkdirSync(WORK, { recursive: true });

const wanted = process.argv.slice(2);
const chosen = PROJECTS.filter(
  (project) => wanted.length === 0 || wanted.some((part) => nameProject(project).includes(part)),
);
/** Of earlier calls too, so that a call for one project changes one line of the table. */
const known = (existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, "utf8")) : {}) as Record<string, Row>;
const provider = await startProvider();
for (const project of chosen) {
  const row: Row = { project };
  const readMessage = (error: unknown) => (error instanceof Error ? error.message : String(error));
  try {
    const { root, absent } = prepareProject(project, WORK);
    row.outcome = await check(project, root, provider.url).catch((error: unknown) => {
      row.failure = readMessage(error);
      return undefined;
    });
    const missing = absent.filter((name) => row.failure?.includes(`Could not resolve "${name}`));
    if (missing.length > 0) throw new Error(`The registry does not have ${missing.join(", ")}.`);
  } catch (error) {
    // That says nothing about Weir, so the project stays out of the table.
    delete known[nameProject(project)];
    writeFileSync(RESULTS, JSON.stringify(known));
    console.log(`${nameProject(project)} could not be installed. ${readMessage(error)}`);
    continue;
  }
  known[nameProject(project)] = row;
  writeFileSync(RESULTS, JSON.stringify(known));
  console.log(`${nameProject(project)}\n  ${JSON.stringify(row.outcome ?? row.failure)}`);
}
provider.stop();
const rows = PROJECTS.map((project) => ({ ...known[nameProject(project)], project }));
writeReport(rows.filter(({ outcome, failure }) => outcome ?? failure));
