/** Before a deploy: whether threads that wait would be left without the node or the key that they need. */
import type { CheckPage, DescribedGraph } from "../../system/deploys/schema.ts";
import { createApi, type Fetch } from "../api.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { localEnvironment, type Project } from "../project/project.ts";
import { CliFault } from "../console.ts";
import type { GeneratedConfig } from "../project/generate.ts";
import { readStoredSecrets } from "./secrets.ts";

// Which threads of a deployment cannot continue on the graphs that are to be deployed.

/** What a check of all workspaces has found. */
export interface ThreadCheck {
  counts: CheckPage["counts"];
  /** The first of the threads that cannot continue, with their workspaces. */
  threads: (CheckPage["threads"][number] & { workspace: string })[];
}

/** The most threads that are named. */
const NAMED = 20;

/** Reads all threads that wait, by pages, of every workspace. `url`: with the `mount_prefix`. */
export async function checkAllThreads(
  graphs: Record<string, DescribedGraph>,
  { url, key, fetch }: { url: string; key: string; fetch: Fetch },
): Promise<ThreadCheck> {
  const workspaces = await createApi({ url, key, fetch })<{ id: string }[]>("GET", "/workspaces");
  const described = Object.entries(graphs).map(([id, { shape, migrates }]) => [id, { shape, migrates }] as const);
  const all: ThreadCheck = { counts: {}, threads: [] };
  for (const { id } of workspaces) {
    const call = createApi({ url, key, workspaceId: id, root: "", fetch });
    let after: string | null = null;
    do {
      const body: object = { graphs: Object.fromEntries(described), ...(after !== null && { after }) };
      const page: CheckPage = await call<CheckPage>("POST", "/graphs/check", body);
      add(all, id, page);
      after = page.next;
    } while (after !== null);
  }
  return all;
}

function add({ counts, threads }: ThreadCheck, workspace: string, page: CheckPage): void {
  for (const [graph, found] of Object.entries(page.counts)) {
    const sum = (counts[graph] ??= { checked: 0, cannot_continue: 0, migrated: 0, unknown: 0 });
    for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += found[name];
  }
  threads.push(...page.threads.slice(0, NAMED - threads.length).map((thread) => ({ ...thread, workspace })));
}

/** How many threads cannot continue. */
export const countBlocked = ({ counts }: ThreadCheck): number =>
  Object.values(counts).reduce((sum, { cannot_continue }) => sum + cannot_continue, 0);

/** A line for each graph, then one for each thread that is named. */
export function describeThreadCheck({ counts, threads }: ThreadCheck): string[] {
  const graphs = Object.entries(counts).map(([id, { checked, cannot_continue, migrated, unknown }]) => {
    const parts = [`${checked} waiting`, `${cannot_continue} cannot continue`];
    if (migrated > 0) parts.push(`${migrated} will be migrated`);
    if (unknown > 0) parts.push(`${unknown} not compared`);
    return `  graph        ${id.padEnd(32)} ${parts.join(", ")}`;
  });
  const named = threads.map(({ thread_id, reasons }) => `  thread       ${thread_id}  ${reasons.join(", ")}`);
  return [...graphs, ...named];
}

// The graphs of the bundle that is to be deployed, as the bundle itself describes them on this machine.

/**
 * Serves `.weir/build` for a moment, with an empty state, and reads its graphs. A graph that needs what only the deployment has
 * has no shape and an `error`. Throws a Fault when the bundle cannot be loaded.
 */
export async function describeBundle(
  project: Project,
  generated: GeneratedConfig,
): Promise<Record<string, DescribedGraph>> {
  const [{ localConfig }, { readModules }, { Server }, { translateConfig: translated }, { useScript }] =
    await Promise.all([
      import("../dev/config.ts"),
      import("../dev/modules.ts"),
      import("../dev/server.ts"),
      import("../dev/config.ts"),
      import("../dev/server.ts"),
    ]);
  const { file, name, variables } = localConfig(project, generated, localEnvironment(project));
  const options = await translated(project, file);
  useScript(project.weirDir);
  const persistTo = mkdtempSync(join(tmpdir(), "weir-"));
  const lost = Promise.withResolvers<never>();
  const server = new Server({ persistTo, onLine: () => {}, trace: () => {}, onLost: lost.reject });
  try {
    await server.serve({ name, variables, translated: options, modules: readModules(project) });
    const prefix = project.config.http?.mount_prefix ?? "";
    const headers = { "x-api-key": variables.WEIR_ADMIN_KEY };
    const response = await Promise.race([fetch(`${server.url}${prefix}/graphs`, { headers }), lost.promise]);
    if (!response.ok) throw new CliFault(`The bundle does not describe its graphs: ${await response.text()}`);
    return (await response.json<{ graphs: Record<string, DescribedGraph> }>()).graphs;
  } finally {
    await server.stop();
    rmSync(persistTo, { recursive: true, force: true });
  }
}

type Say = (line: string) => void;

/** Where the running deployment is and what opens it; undefined where this machine does not know. */
function findDeployment({ weirDir }: Project, { wrangler }: GeneratedConfig, env: NodeJS.ProcessEnv) {
  const known = readStoredSecrets(weirDir, String(wrangler.name));
  const key = env.WEIR_ADMIN_KEY || known.WEIR_ADMIN_KEY;
  const url = env.WEIR_URL || known.url;
  return key && url ? { key, url: url.replace(/\/$/, "") } : undefined;
}

/** Says what the check finds, and gives the number of threads that cannot continue. Throws a Fault where it cannot be made. */
export async function checkDeploy(
  project: Project,
  generated: GeneratedConfig,
  say: Say,
  fetch: Fetch = globalThis.fetch,
  env: NodeJS.ProcessEnv = process.env,
): Promise<number> {
  const deployment = findDeployment(project, generated, env);
  if (!deployment)
    throw new CliFault(
      "This machine does not know the deployment. Set WEIR_URL to its address and WEIR_ADMIN_KEY to its admin key.",
    );
  const graphs = await describeBundle(project, generated);
  for (const [id, { error }] of Object.entries(graphs))
    if (error) say(`  warning  Graph "${id}" is not compared, because it cannot be made here: ${error}`);
  const comparison = await checkAllThreads(graphs, { ...deployment, fetch });
  for (const line of describeThreadCheck(comparison)) say(line);
  return countBlocked(comparison);
}

/** Throws a Fault when threads cannot continue. A failed check is a warning. */
export async function refuseToBlockThreads(
  project: Project,
  generated: GeneratedConfig,
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
    throw new CliFault(
      `${count} ${count === 1 ? "thread" : "threads"} cannot continue on the new graphs, so nothing is deployed. ` +
        "Export migrations for them (docs/deploys.md), or deploy with --force: they answer 409 until then.",
    );
}
