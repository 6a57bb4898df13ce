/** `weir deploy`: from a project to a deployment, in one command that can be repeated. */
import { argumentsOf, ENV } from "./arguments.ts";
import { build } from "./build.ts";
import type { DeployConfig } from "./deploy/plan.ts";
import { release } from "./deploy/release.ts";
import { checkExports, checkVersions } from "./doctor.ts";
import { environmentOf } from "./environment.ts";
import { findProject } from "./project.ts";

export const usage = `weir deploy [dir] [--env <name>] [--dry-run]

Deploys the project into your Cloudflare account: checks and bundles it, creates the D1 database, R2 buckets and queues that
are missing, makes the secrets ENCRYPTION_KEY and WEIR_ADMIN_KEY and sets those of "env" in langgraph.json where they are absent,
applies D1 migrations, deploys the Worker, waits for its answer, and shows the first API key once. It can be run again at any
time and creates nothing twice.

  --env <name>  an environment of the project's wrangler configuration, with resources of its own
  --dry-run     name everything that would be created and change nothing

CLOUDFLARE_API_TOKEN, or \`npx wrangler login\`, says who deploys; CLOUDFLARE_ACCOUNT_ID chooses among several accounts.`;

export async function run(argv: string[]): Promise<number> {
  const { values, dir } = argumentsOf(argv, { ...ENV, "dry-run": { type: "boolean" } });
  const project = await findProject(dir);
  checkVersions(project);
  await checkExports(project);
  const { wrangler, wranglerPath, warnings } = await build(project, values);
  const own = environmentOf(project);
  for (const warning of [...warnings, ...own.warnings]) console.warn(`  warning  ${warning}`);
  await release({
    config: wrangler as DeployConfig,
    configPath: wranglerPath,
    root: project.root,
    weirDir: project.weirDir,
    secrets: own.variables,
    prefix: project.config.http?.mount_prefix,
    dryRun: values["dry-run"],
    say: (line) => console.log(line),
  });
  return 0;
}
