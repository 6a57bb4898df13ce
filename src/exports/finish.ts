/** The end of an export: the manifest is written, then the export is complete. */
import type { Deps } from "./deps.ts";
import { keyBelow } from "./destinations/open.ts";
import { manifestKey } from "./layout.ts";
import { allRuns, completeJob, startWaiting } from "./ledger/jobs.ts";
import { openDestination } from "./open-destination.ts";
import type { ExportRow } from "./store.ts";
import { isoFromMicros } from "../traces/time.ts";

/** The manifest's format; a change of its members that readers could trip over raises it. */
const MANIFEST_VERSION = 1;

/** Writes the manifest of an export whose runs are all complete, and completes it. Safe to repeat. */
export async function finish(deps: Deps, job: ExportRow): Promise<void> {
  const { store, destination } = await openDestination(deps, job);
  const runs = await allRuns(deps.db, job.id);
  const sum = (of: "rows" | "bytes") => runs.reduce((total, run) => total + run[of], 0);
  const manifest = {
    version: MANIFEST_VERSION,
    export_id: job.id,
    tenant_id: job.workspaceId,
    format: "Parquet",
    format_version: job.formatVersion,
    compression: job.compression,
    start_time: isoFromMicros(job.startTime),
    end_time: isoFromMicros(job.endTime ?? job.startTime),
    filter: job.filter,
    export_fields: job.exportFields,
    rows: sum("rows"),
    bytes: sum("bytes"),
    partitions: runs.map((run) => ({
      session_id: run.projectId,
      day: run.day,
      start_time: isoFromMicros(run.startTime),
      end_time: isoFromMicros(run.endTime),
      rows: run.rows,
      files: run.files.map(({ key, rows, bytes, sha256 }) => ({ key, rows, bytes, sha256 })),
    })),
  };
  await deps.at("before manifest");
  const bytes = new TextEncoder().encode(`${JSON.stringify(manifest, null, 1)}\n`);
  await store.put(keyBelow(destination.config, manifestKey(job.id)), bytes, "application/json");
  await deps.at("after manifest");
  if (await completeJob(deps.db, job.id, deps.now())) await startNext(deps, job.workspaceId);
}

/** Starts the workspace's next waiting exports, now that one has ended. */
export async function startNext(deps: Deps, workspaceId: string): Promise<void> {
  const started = await startWaiting(deps.db, deps.limits.exportsPerWorkspace, deps.now(), workspaceId);
  for (const exportId of started) await deps.send({ exportId });
}
