/** `weir eject`: the generated files as the project's own. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readArguments, CliFault } from "./console.ts";
import { generate } from "./project/generate.ts";
import { findProject } from "./project/project.ts";
import { workerSource } from "./project/worker-source.ts";
import { findWranglerFile } from "./project/wrangler-config.ts";

export const usage = `weir eject [dir]

Writes src/worker.ts and wrangler.jsonc into the project permanently. You can edit both files. From then on weir dev,
build and deploy serve src/worker.ts, and the keys graphs, auth, http, store, checkpointer, ui and a2a of langgraph.json have no
effect.`;

const WORKER = "src/worker.ts";

export async function run(argv: string[]): Promise<number> {
  const { dir } = readArguments(argv, {});
  const project = await findProject(dir);
  const { root } = project;
  for (const file of [join(root, WORKER), findWranglerFile(root)])
    if (file && existsSync(file)) throw new CliFault(`${file} exists. Move it away first: eject overwrites nothing.`);
  const { wrangler } = await generate(project);
  // What belongs to the bundle, and paths into the package, are added again by each build.
  const { no_bundle: _1, find_additional_modules: _2, rules: _3, assets: _4, ...rest } = wrangler;
  const source = workerSource(project, join(root, "src")).replace(/^.*\n/, "// Made by `weir eject`. Yours to edit.\n");
  const databases = (rest.d1_databases as Record<string, unknown>[]).map(({ migrations_dir: _5, ...one }) => one);
  mkdirSync(join(root, "src"), { recursive: true });
  writeFileSync(join(root, WORKER), source);
  const config = { ...rest, main: WORKER, d1_databases: databases };
  writeFileSync(join(root, "wrangler.jsonc"), `${JSON.stringify(config, null, 2)}\n`);
  console.log(`  ${WORKER} and wrangler.jsonc are yours now.`);
  return 0;
}
