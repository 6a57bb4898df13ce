/** The runs of experiments on a page of examples. */
import { type Find, findRuns } from "../../query/find.ts";
import type { LargeField, QueriedRun } from "../../types.ts";
import type { RowPage } from "../../review/experiments/rows.ts";

/** The most bytes of the payloads of a page that are held at once. Payloads in R2 do not count. */
export const PAGE_BYTES = 12 * 1024 * 1024;

export interface RunsWanted {
  experimentIds: string[];
  payloads: LargeField[];
  values: LargeField[];
}

/** The root runs by example, in the order of the experiments. Undefined when they are larger than `PAGE_BYTES`. */
export async function runsOfRows(
  env: Env,
  workspaceId: string,
  { rows, matching }: RowPage,
  { experimentIds, payloads, values }: RunsWanted,
): Promise<Map<string, QueriedRun[]> | undefined> {
  const runs: QueriedRun[] = [];
  if (rows.length === 0) return new Map();
  const selection = { referenceExampleIds: rows.map(({ id }) => id), isRoot: true };
  const find = { projectIds: experimentIds, selection, order: "asc" as const, limit: 1000, payloads, values };
  let bytes = 0;
  let after: Find["after"] = null;
  do {
    const page: Awaited<ReturnType<typeof findRuns>> = await findRuns(env, workspaceId, { ...find, after });
    for (const run of page.runs) {
      if (matching.get(run.session_id)?.has(run.id) === false) continue;
      runs.push(run);
      for (const name of payloads) bytes += run[name]?.length ?? 0;
    }
    if (bytes > PAGE_BYTES) return undefined;
    after = page.next;
  } while (after);
  const place = (run: QueriedRun) => experimentIds.indexOf(run.session_id);
  runs.sort((a, b) => place(a) - place(b));
  return Map.groupBy(runs, (run) => run.reference_example_id ?? "");
}
