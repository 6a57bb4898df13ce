/** `weir doctor`: checks a project, this machine and the account, and says how to fix each fault. */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { build as bundle } from "esbuild";
import { namedCode, splitCodeSpec } from "./project/langgraph-json.ts";
import { type Project, findProject } from "./project/project.ts";
import { readArguments, ENV, CliFault } from "./console.ts";
import { build } from "./build.ts";
import { openAccount } from "./deploy/account.ts";
import { generate } from "./project/generate.ts";
import { installedVersion, nodeFault, satisfies, PEERS } from "./project/package.ts";

// Whether the files that langgraph.json names export what it says.

/**
 * The names that a module exports; undefined when they are known only at run time: `export *`, CommonJS, or a syntax
 * error.
 */
async function readExportNames(file: string): Promise<string[] | undefined> {
  const source = readFileSync(file, "utf8");
  if (!/\bexport\b/.test(source) || /\bexport\s*\*/.test(source)) return undefined;
  const result = await bundle({
    entryPoints: [file],
    bundle: false,
    write: false,
    metafile: true,
    format: "esm",
    outdir: join(file, "..", ".weir"),
    logLevel: "silent",
  }).catch(() => undefined);
  const names = Object.values(result?.metafile.outputs ?? {}).flatMap((output) => output.exports);
  return names.length > 0 ? names : undefined;
}

/** A sentence for each export that langgraph.json names and the file does not have, with the names that it has. */
export async function missingExports({ root, config }: Project): Promise<string[]> {
  const faults = await Promise.all(
    namedCode(config).map(async ([key, spec]) => {
      const { file, name } = splitCodeSpec(spec);
      const path = resolve(root, file);
      const names = existsSync(path) ? await readExportNames(path) : undefined;
      if (!names || names.includes(name)) return [];
      return [`langgraph.json: "${key}" names the export "${name}" of ${file}, which exports ${names.join(", ")}.`];
    }),
  );
  return faults.flat();
}

export const usage = `weir doctor [dir] [--env <name>]

Checks Node, langgraph.json, the graphs, the versions of LangChain, the wrangler configuration and the Cloudflare account.
Exits with 1 when a check fails. A missing login is no failure: only \`weir deploy\` needs it.

  --env <name>  an environment of the project's wrangler configuration`;

export interface DoctorFinding {
  /** What is checked, and what was found. */
  what: string;
  /** What is wrong and what to do. Left out when nothing is. */
  fault?: string;
}

export async function run(argv: string[]): Promise<number> {
  const { values, dir } = readArguments(argv, ENV);
  const findings = await examine(dir, values);
  for (const { what, fault } of findings) console.log(fault ? `FAILED  ${what}\n        ${fault}` : `ok      ${what}`);
  console.log(`        ${await accountLine(dir)}`);
  return findings.some(({ fault }) => fault) ? 1 : 0;
}

/** Each check of the project in `dir`. Checks that can cause later faults come first. */
async function examine(dir: string, { env }: { env?: string }): Promise<DoctorFinding[]> {
  const findings = [nodeFinding(process.versions.node)];
  const project = await runCheck(findings, "langgraph.json", () => findProject(dir));
  if (!project) return findings;
  findings.push(...versionFindings(project));
  const generated = await runCheck(findings, "wrangler configuration", () => generate(project, { env }));
  if (!generated) return findings;
  await runCheck(findings, `graphs: ${Object.keys(project.config.graphs).join(", ")}`, async () => {
    await checkExports(project);
    await build(project, { env });
  });
  return findings;
}

/** What a build does not notice: this machine's Node, and versions of LangChain. Throws a Fault. */
export function checkVersions(project: Project): void {
  const findings = [nodeFinding(process.versions.node), ...versionFindings(project)];
  const faults = findings.flatMap(({ what, fault }) => (fault ? [`${what}: ${fault}`] : []));
  if (faults.length > 0) throw new CliFault(faults.join("\n"));
}

/** Throws a Fault where langgraph.json names an export that its file does not have. A build does not notice. */
export async function checkExports(project: Project): Promise<void> {
  const faults = await missingExports(project);
  if (faults.length > 0) throw new CliFault(faults.join("\n"));
}

/** Records the check's outcome. A Fault is a finding; any other error is a bug. */
async function runCheck<T>(findings: DoctorFinding[], what: string, check: () => Promise<T>): Promise<T | undefined> {
  try {
    const result = await check();
    findings.push({ what });
    return result;
  } catch (error) {
    if (!(error instanceof CliFault)) throw error;
    findings.push({ what, fault: error.message.replaceAll("\n", "\n        ") });
    return undefined;
  }
}

export function nodeFinding(version: string): DoctorFinding {
  return { what: `Node ${version}`, fault: nodeFault(version) };
}

/** The project's versions of what the package names as peers. */
function versionFindings({ root }: Project): DoctorFinding[] {
  return Object.entries(PEERS).map(([name, range]) => {
    const version = installedVersion(root, name);
    const what = `${name} ${version ?? ""}`.trim();
    if (!version) return { what, fault: `It is not installed. Run: npm install ${name}` };
    if (satisfies(version, range)) return { what };
    return { what, fault: `Weir runs with ${range}. Run: npm install "${name}@${range}"` };
  });
}

async function accountLine(dir: string): Promise<string> {
  try {
    const { id } = await openAccount({ cwd: dir });
    return `Cloudflare account ${id}`;
  } catch (error) {
    if (!(error instanceof CliFault)) throw error;
    return `No Cloudflare account: ${error.message}`;
  }
}
