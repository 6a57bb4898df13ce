/** Before a deploy: whether threads that wait would be left without the node or the key that they need. */
import type { Fetch } from "../api.ts";
import { Fault } from "../fault.ts";
import type { Generated } from "../project/generate.ts";
import type { Project } from "../project.ts";
import { compareThreads, countStuck, describeComparison } from "./compare.ts";
import { describeBundle } from "./describe.ts";
import { readKnown } from "./secrets.ts";

type Say = (line: string) => void;

/** Where the running deployment is and what opens it; undefined where this machine does not know. */
function findDeployment({ weirDir }: Project, { wrangler }: Generated, env: NodeJS.ProcessEnv) {
  const known = readKnown(weirDir, String(wrangler.name));
  const key = env.WEIR_ADMIN_KEY || known.WEIR_ADMIN_KEY;
  const url = env.WEIR_URL || known.url;
  return key && url ? { key, url: url.replace(/\/$/, "") } : undefined;
}

/** Says what the check finds, and gives the number of threads that cannot continue. Throws a Fault where it cannot be made. */
export async function checkDeploy(
  project: Project,
  generated: Generated,
  say: Say,
  fetch: Fetch = globalThis.fetch,
  env: NodeJS.ProcessEnv = process.env,
): Promise<number> {
  const deployment = findDeployment(project, generated, env);
  if (!deployment)
    throw new Fault(
      "This machine does not know the deployment. Set WEIR_URL to its address and WEIR_ADMIN_KEY to its admin key.",
    );
  const graphs = await describeBundle(project, generated);
  for (const [id, { error }] of Object.entries(graphs))
    if (error) say(`  warning  Graph "${id}" is not compared, because it cannot be made here: ${error}`);
  const comparison = await compareThreads(graphs, { ...deployment, fetch });
  for (const line of describeComparison(comparison)) say(line);
  return countStuck(comparison);
}

/** Throws a Fault when threads cannot continue. A failed check is a warning. */
export async function refuseToStrand(
  project: Project,
  generated: Generated,
  say: Say,
  fetch: Fetch = globalThis.fetch,
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  if (!findDeployment(project, generated, env)) return;
  const count = await checkDeploy(project, generated, say, fetch, env).catch((error: unknown) => {
    say(`  warning  The threads that wait are not checked: ${error instanceof Error ? error.message : String(error)}`);
    return 0;
  });
  if (count > 0)
    throw new Fault(
      `${count} ${count === 1 ? "thread" : "threads"} cannot continue on the new graphs, so nothing is deployed. ` +
        "Export migrations for them (docs/deploys.md), or deploy with --force: they answer 409 until then.",
    );
}
