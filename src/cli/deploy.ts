/** `weir deploy`: from a project to a deployment, in one command that can be repeated. */
import { readArguments, ENV } from "./console.ts";
import { build } from "./build.ts";
import type { DeployConfig } from "./deploy/plan.ts";
import { checkDeploy, refuseToBlockThreads } from "./deploy/check-threads.ts";
import { release } from "./deploy/release.ts";
import { checkExports, checkVersions } from "./doctor.ts";
import { readEnvironment, findProject } from "./project/project.ts";

export const usage = `weir deploy [dir] [--env <name>] [--dry-run] [--check] [--force]

Deploys the project into your Cloudflare account: checks and bundles it, creates the D1 database, R2 buckets and queues that
are missing, makes the secrets ENCRYPTION_KEY and WEIR_ADMIN_KEY and sets those of "env" in langgraph.json where they are absent,
applies D1 migrations, deploys the Worker, waits for its answer, and shows the first API key once. It can be run again at any
time and creates nothing twice. It deploys nothing when threads that wait cannot continue on the new graphs.

  --env <name>  an environment of the project's wrangler configuration, with resources of its own
  --dry-run     name everything that would be created and change nothing
  --check       name the threads that cannot continue on the new graphs, and deploy nothing
  --force       deploy although threads cannot continue

CLOUDFLARE_API_TOKEN, or \`npx wrangler login\`, says who deploys; CLOUDFLARE_ACCOUNT_ID chooses among several accounts.`;

export async function run(argv: string[]): Promise<number> {
  const flag = { type: "boolean" } as const;
  const { values, dir } = readArguments(argv, { ...ENV, "dry-run": flag, check: flag, force: flag });
  const project = await findProject(dir);
  checkVersions(project);
  await checkExports(project);
  const built = await build(project, values);
  const { wrangler, wranglerPath, warnings } = built;
  const own = readEnvironment(project);
  for (const warning of [...warnings, ...own.warnings]) console.warn(`  warning  ${warning}`);
  const say = (line: string) => console.log(line);
  if (values.check) return (await checkDeploy(project, built, say)) > 0 ? 1 : 0;
  if (!values["dry-run"] && !values.force) await refuseToBlockThreads(project, built, say);
  await release({
    config: wrangler as DeployConfig,
    configPath: wranglerPath,
    root: project.root,
    weirDir: project.weirDir,
    secrets: own.variables,
    prefix: project.config.http?.mount_prefix,
    dryRun: values["dry-run"],
    say,
  });
  return 0;
}
