/** `weir schemas`: the JSON Schemas of graphs that are typed only in TypeScript. */
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { readArguments } from "./console.ts";
import { writeWhole, findProject, type Project, schemasFile } from "./project/project.ts";
import { MAIN } from "./project/package.ts";

export const usage = `weir schemas [dir]

Reads the types of the graphs of dir (default: this folder) and writes their JSON Schemas to .weir/schemas.json, from which
the server answers for graphs without runtime schemas. weir build and weir dev do this themselves.`;

/** Writes `.weir/schemas.json`. TypeScript is loaded where types are read only: it takes 0.2 seconds. */
export async function writeSchemas(project: Project): Promise<void> {
  const { extractSchemas } = await import("./schema-extract.ts");
  writeWhole(schemasFile(project), `${JSON.stringify(extractSchemas(project), null, 2)}\n`);
}

/**
 * Writes `.weir/schemas.json` in a process of its own, since reading the types takes seconds of the processor. Resolves
 * with whether the schemas changed; a failure leaves them as they were.
 */
export async function writeSchemasApart(project: Project, signal: AbortSignal): Promise<boolean> {
  const before = readSchemas(project);
  await new Promise<void>((resolve) => {
    const child = spawn(process.execPath, [MAIN, "schemas", project.root], { stdio: "ignore", signal });
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  return readSchemas(project) !== before;
}

const readSchemas = (project: Project): string | undefined =>
  existsSync(schemasFile(project)) ? readFileSync(schemasFile(project), "utf8") : undefined;

export async function run(argv: string[]): Promise<number> {
  const { dir } = readArguments(argv, {});
  await writeSchemas(await findProject(dir));
  return 0;
}
