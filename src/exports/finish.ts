/** The end of an export: the manifest is written, then the export is complete. */
import { and, asc, eq, gte, inArray, isNotNull, lt, not, or, sql } from "drizzle-orm";
import { type Database, database } from "../db/client.ts";
import { bulkExports } from "./table.ts";
import { traceDeletions } from "../traces/projects/table.ts";
import { type ExportRow, NO_PROGRESS, readProgress } from "./store.ts";
import type { ExportDeps } from "./deps.ts";
import { keyBelow } from "./destinations/open.ts";
import { manifestKey, abortOthers } from "./slice.ts";
import { allRuns, completeJob, startWaiting } from "./ledger/jobs.ts";
import { openDestination } from "./destinations/store.ts";
import { ObjectSink } from "./s3/store.ts";
import { isoFromMicros } from "../traces/time.ts";

// D1: the traces that were deleted. Files of earlier windows can still have them.

/** Rows per query. */
const PAGE = 1000;

/**
 * Makes the manifest of a scheduled export name what was deleted in earlier windows, too, whose exports have ended without one. A window
 * is taken from an export that has ended so itself.
 */
export async function takeDeletions(db: Database, job: ExportRow): Promise<void> {
  if (job.sourceExportId === null) return;
  const ended = inArray(bulkExports.status, ["FAILED", "CANCELLED", "TIMEDOUT"]);
  const isTaken = sql`EXISTS (SELECT 1 FROM bulk_exports o
    WHERE o.id = bulk_exports.deletions_by AND o.status IN ('RUNNING', 'COMPLETED'))`;
  await db
    .update(bulkExports)
    .set({ deletionsBy: job.id })
    .where(
      and(
        eq(bulkExports.sourceExportId, job.sourceExportId),
        lt(bulkExports.startTime, job.startTime),
        ended,
        not(isTaken),
      ),
    );
}

/**
 * The traces that were deleted in a scheduled export's window, and in those that it has taken (`takeDeletions`), by project and id. The
 * windows of a schedule tile the time, so each deletion is in one manifest. They are of the schedule's project, or of any experiment
 * that one of its exports has had, though it may be deleted. None for any other export.
 */
export async function* readDeletions(db: Database, job: ExportRow) {
  if (job.sourceExportId === null) return;
  const { workspaceId, projectId, traceId, deletedAt } = traceDeletions;
  const ofSchedule = sql`(SELECT r.project_id FROM export_runs r JOIN bulk_exports e ON e.id = r.export_id
    WHERE e.source_export_id = ${job.sourceExportId})`;
  const windows = await db
    .select({ from: sql<number>`start_time / 1000.0`, to: sql<number>`end_time / 1000.0` })
    .from(bulkExports)
    .where(
      and(
        eq(bulkExports.sourceExportId, job.sourceExportId),
        or(eq(bulkExports.id, job.id), eq(bulkExports.deletionsBy, job.id)),
      ),
    )
    .all();
  const isInWindow = sql`EXISTS (SELECT 1 FROM json_each(${JSON.stringify(windows)}) w
    WHERE deleted_at >= w.value ->> 'from' AND deleted_at < w.value ->> 'to')`;
  // The bounds of all are for the index.
  const first = windows.reduce((least, { from }) => Math.min(least, from), Infinity);
  const end = windows.reduce((most, { to }) => Math.max(most, to), 0);
  let after = { projectId: "", traceId: "" };
  for (;;) {
    const rows = await db
      .select({ projectId, traceId, deletedAt })
      .from(traceDeletions)
      .where(
        and(
          eq(workspaceId, job.workspaceId),
          job.sessionId === null ? sql`${projectId} IN ${ofSchedule}` : eq(projectId, job.sessionId),
          gte(deletedAt, first),
          lt(deletedAt, end),
          isInWindow,
          sql`(${projectId}, ${traceId}) > (${after.projectId}, ${after.traceId})`,
        ),
      )
      .orderBy(asc(projectId), asc(traceId))
      .limit(PAGE)
      .all();
    yield* rows;
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return;
    after = last;
  }
}

/** Whether a schedule has exported runs of a project, or is to export them: its manifests name the traces of the project when it is deleted. */
export async function isScheduled(env: Pick<Env, "DB">, workspaceId: string, projectId: string): Promise<boolean> {
  const ofProject = sql`(${bulkExports.sessionId} = ${projectId} OR EXISTS (SELECT 1 FROM export_runs r
    WHERE r.export_id = bulk_exports.id AND r.project_id = ${projectId}))`;
  const isOfSchedule = or(isNotNull(bulkExports.sourceExportId), isNotNull(bulkExports.intervalHours));
  const found = await database(env.DB)
    .select({ id: bulkExports.id })
    .from(bulkExports)
    .where(and(eq(bulkExports.workspaceId, workspaceId), isOfSchedule, ofProject))
    .limit(1)
    .get();
  return found !== undefined;
}

/** The manifest's format; a change of its members that readers could trip over raises it. */
const MANIFEST_VERSION = 1;

/** Writes the manifest of an export whose runs are all complete, and completes it. Safe to repeat. */
export async function finishExport(deps: ExportDeps, job: ExportRow): Promise<void> {
  const { store, destination } = await openDestination(deps, job);
  await takeDeletions(deps.db, job);
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
  if (await completeJob(deps.db, job.id, deps.now())) await startNext(deps, job.workspaceId);
}

/** The manifest's text in pieces. An export can have 100,000 runs, and the whole text does not fit in memory. */
async function* writeManifest({ db }: ExportDeps, job: ExportRow): AsyncGenerator<string> {
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
export async function startNext(deps: ExportDeps, workspaceId: string): Promise<void> {
  const started = await startWaiting(deps.db, deps.limits.exportsPerWorkspace, deps.now(), workspaceId);
  for (const exportId of started) await deps.send({ exportId });
}
