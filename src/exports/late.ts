/** How many runs of a completed export's windows have come or changed since it read them. */
import { CONNECTIONS, inParallel } from "../http/parallel.ts";
import type { Deps } from "./deps.ts";
import { changedWindows } from "./ledger/late.ts";
import type { ExportRow } from "./store.ts";

/** Null for a schedule and for an export that is not complete. Partitions are counted up to 2 seconds ago. */
export async function countLate(deps: Deps, job: ExportRow): Promise<number | null> {
  if (job.status !== "COMPLETED") return null;
  const windows = await changedWindows(deps.db, job.id);
  const counts = await inParallel(windows, CONNECTIONS, (window) =>
    deps.partition(job.workspaceId, window).countChanged({ ...window, filter: job.filter }),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
