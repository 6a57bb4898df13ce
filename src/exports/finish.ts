/** The end of an export: the manifest is written, then the export is complete. */
import type { Database } from "../db/client.ts";
import type { Deps } from "./deps.ts";
import { keyBelow } from "./destinations/open.ts";
import { manifestKey } from "./layout.ts";
import { readDeletions } from "./ledger/deletions.ts";
import { allRuns, completeJob, startWaiting } from "./ledger/jobs.ts";
import { noteLateSeen } from "./ledger/late.ts";
import { openDestination } from "./open-destination.ts";
import { abortOthers } from "./slice.ts";
import { ObjectSink } from "./s3/store.ts";
import { type ExportRow, NO_PROGRESS, readProgress } from "./store.ts";
import { isoFromMicros } from "../traces/time.ts";

/** The manifest's format; a change of its members that readers could trip over raises it. */
const MANIFEST_VERSION = 1;

/** Writes the manifest of an export whose runs are all complete, and completes it. Safe to repeat. */
export async function finishExport(deps: Deps, job: ExportRow): Promise<void> {
  const { store, destination } = await openDestination(deps, job);
  const key = keyBelow(destination.config, manifestKey(job.id));
  const { partBytes } = deps.limits;
  const nothing = async () => undefined;
  const events = { uploadDue: nothing, uploadCreated: nothing, partUploaded: nothing };
  const sink = new ObjectSink(store, { key, contentType: "application/json", partBytes }, events);
  try {
    const encoder = new TextEncoder();
    for await (const text of writeManifest(deps, job)) {
      sink.appendBytes(encoder.encode(text));
      await sink.flush();
    }
    await sink.finish();
    await deps.at("before manifest");
    await sink.complete();
    await store.confirm(key, sink.offset);
    if (sink.offset > partBytes) await abortOthers(store, key);
  } catch (error) {
    await sink.abort().catch(() => undefined);
    throw error;
  }
  await deps.at("after manifest");
  const isEnded = await completeJob(deps.db, job.id, deps.now());
  // If this fails, the next window exports the same late runs again.
  await noteLateSeen(deps.db, job.id);
  if (isEnded) await startNext(deps, job.workspaceId);
}

/** The manifest's text in pieces. An export can have 100,000 runs, and the whole text does not fit in memory. */
async function* writeManifest({ db }: Deps, job: ExportRow): AsyncGenerator<string> {
  const { rows, bytes } = (await readProgress(db, [job.id])).get(job.id) ?? NO_PROGRESS;
  const head = {
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
    rows,
    bytes,
  };
  yield `${JSON.stringify(head, null, 1).slice(0, -2)},\n "partitions": [`;
  yield* listWindows(db, job, false);
  yield '\n ],\n "late": [';
  yield* listWindows(db, job, true);
  yield '\n ],\n "deleted": [';
  yield* listDeletedTraces(db, job);
  yield "\n ]\n}\n";
}

/** The traces that were deleted in the window of a schedule's export. */
async function* listDeletedTraces(db: Database, job: ExportRow): AsyncGenerator<string> {
  let separator = "\n  ";
  for await (const { projectId, traceId, deletedAt } of readDeletions(db, job)) {
    const deleted_at = new Date(deletedAt).toISOString();
    yield separator + JSON.stringify({ session_id: projectId, trace_id: traceId, deleted_at });
    separator = ",\n  ";
  }
}

/** The windows of an export with their files: its own, or the earlier ones of which it has late runs. */
async function* listWindows(db: Database, job: ExportRow, late: boolean): AsyncGenerator<string> {
  let separator = "\n  ";
  for await (const run of allRuns(db, job.id, late)) {
    if (late && run.files.length === 0) continue;
    const window = {
      session_id: run.projectId,
      day: run.day,
      start_time: isoFromMicros(run.startTime),
      end_time: isoFromMicros(run.endTime),
      rows: run.rows,
      files: run.files.map(({ key, rows, bytes, sha256 }) => ({ key, rows, bytes, sha256 })),
    };
    yield separator + JSON.stringify(window);
    separator = ",\n  ";
  }
}

/** Starts the workspace's next waiting exports, now that one has ended. */
export async function startNext(deps: Deps, workspaceId: string): Promise<void> {
  const started = await startWaiting(deps.db, deps.limits.exportsPerWorkspace, deps.now(), workspaceId);
  for (const exportId of started) await deps.send({ exportId });
}
