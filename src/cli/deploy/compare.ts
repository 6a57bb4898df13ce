/** Which threads of a deployment cannot continue on the graphs that are to be deployed. */
import type { CheckPage, DescribedGraph } from "../../system/deploys/schema.ts";
import { createApi, type Fetch } from "../api.ts";

/** What a check of all workspaces has found. */
export interface Comparison {
  counts: CheckPage["counts"];
  /** The first of the threads that cannot continue, with their workspaces. */
  threads: (CheckPage["threads"][number] & { workspace: string })[];
}

/** The most threads that are named. */
const NAMED = 20;

/** Reads all threads that wait, by pages, of every workspace. `url`: with the `mount_prefix`. */
export async function compareThreads(
  graphs: Record<string, DescribedGraph>,
  { url, key, fetch }: { url: string; key: string; fetch: Fetch },
): Promise<Comparison> {
  const workspaces = await createApi({ url, key, fetch })<{ id: string }[]>("GET", "/workspaces");
  const described = Object.entries(graphs).map(([id, { shape, migrates }]) => [id, { shape, migrates }] as const);
  const all: Comparison = { counts: {}, threads: [] };
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

function add({ counts, threads }: Comparison, workspace: string, page: CheckPage): void {
  for (const [graph, found] of Object.entries(page.counts)) {
    const sum = (counts[graph] ??= { checked: 0, cannot_continue: 0, migrated: 0, unknown: 0 });
    for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += found[name];
  }
  threads.push(...page.threads.slice(0, NAMED - threads.length).map((thread) => ({ ...thread, workspace })));
}

/** How many threads cannot continue. */
export const countStuck = ({ counts }: Comparison): number =>
  Object.values(counts).reduce((sum, { cannot_continue }) => sum + cannot_continue, 0);

/** A line for each graph, then one for each thread that is named. */
export function describeComparison({ counts, threads }: Comparison): string[] {
  const graphs = Object.entries(counts).map(([id, { checked, cannot_continue, migrated, unknown }]) => {
    const parts = [`${checked} waiting`, `${cannot_continue} cannot continue`];
    if (migrated > 0) parts.push(`${migrated} will be migrated`);
    if (unknown > 0) parts.push(`${unknown} not compared`);
    return `  graph        ${id.padEnd(32)} ${parts.join(", ")}`;
  });
  const named = threads.map(({ thread_id, reasons }) => `  thread       ${thread_id}  ${reasons.join(", ")}`);
  return [...graphs, ...named];
}
