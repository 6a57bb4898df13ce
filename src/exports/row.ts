/** Export jobs and export runs on the wire. */
import * as v from "valibot";
import { AnyObject, Count, Id, Time } from "../http/shapes.ts";
import type { ExportCursor } from "./table.ts";
import { isoFromMicros } from "../traces/time.ts";
import { runFolder } from "./slice.ts";
import type { ExportRow, ExportRunRow, ExportProgress } from "./store.ts";

const iso = (milliseconds: number | null) => (milliseconds === null ? null : new Date(milliseconds).toISOString());

const text = v.nullable(v.string());
const time = v.nullable(Time);
const Status = v.picklist(["CREATED", "RUNNING", "COMPLETED", "FAILED", "CANCELLED", "TIMEDOUT"]);
const ends = { created_at: time, updated_at: time, finished_at: time };

export const Export = v.pipe(
  v.object({
    id: Id,
    tenant_id: v.string(),
    bulk_export_destination_id: Id,
    session_id: text,
    all_experiments: v.boolean(),
    start_time: Time,
    end_time: time,
    filter: text,
    format: v.literal("Parquet"),
    format_version: v.string(),
    compression: v.string(),
    interval_hours: v.nullable(Count),
    export_fields: v.nullable(v.array(v.string())),
    status: Status,
    error: text,
    source_bulk_export_id: text,
    ...ends,
    progress: v.object({
      rows_written: Count,
      bytes_written: Count,
      files_written: Count,
      runs_total: Count,
      runs_completed: Count,
      fraction: v.number(),
    }),
    late_runs: v.nullable(Count),
  }),
  v.title("BulkExport"),
);

export const ExportRun = v.pipe(
  v.object({
    id: Id,
    bulk_export_id: Id,
    session_id: v.string(),
    late: v.boolean(),
    status: Status,
    retry_number: Count,
    errors: v.nullable(v.record(v.string(), v.string())),
    start_time: Time,
    end_time: Time,
    metadata: v.object({
      prefix: v.string(),
      start_time: Time,
      end_time: Time,
      execution_backend: v.null(),
      result: v.nullable(
        v.object({
          rows_written: Count,
          bytes_written: Count,
          exported_files: v.array(v.string()),
          export_path: v.string(),
          latest_cursor: text,
          pending_upload: v.nullable(AnyObject),
        }),
      ),
    }),
    ...ends,
  }),
  v.title("BulkExportRun"),
);

/** Specification 2.5, LangSmith's further members, and how far the export has come. Every member is always there. */
export function toWireExport(
  row: ExportRow,
  progress: ExportProgress,
  lateRuns: number | null = null,
): v.InferOutput<typeof Export> {
  const ended = progress.runs === 0 ? Number(row.status === "COMPLETED") : progress.completed / progress.runs;
  return {
    id: row.id,
    tenant_id: row.workspaceId,
    bulk_export_destination_id: row.destinationId,
    session_id: row.sessionId,
    all_experiments: row.allExperiments,
    start_time: isoFromMicros(row.startTime),
    end_time: row.endTime === null ? null : isoFromMicros(row.endTime),
    filter: row.filter,
    format: "Parquet",
    format_version: row.formatVersion,
    compression: row.compression,
    interval_hours: row.intervalHours,
    export_fields: row.exportFields,
    status: row.status,
    error: row.error,
    source_bulk_export_id: row.sourceExportId,
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
    finished_at: iso(row.finishedAt),
    progress: {
      rows_written: progress.rows,
      bytes_written: progress.bytes,
      files_written: progress.files,
      runs_total: progress.runs,
      runs_completed: progress.completed,
      fraction: ended,
    },
    /** Runs that came or changed since they were exported. Null where they are not counted: in lists, and before the end. */
    late_runs: lateRuns,
  };
}

/** An export run, its result as LangSmith's clients read it: null before the first file. */
export function toWireRun(row: ExportRunRow): v.InferOutput<typeof ExportRun> {
  const started = row.files.length > 0 || row.cursor !== null || row.status === "COMPLETED";
  return {
    id: row.id,
    bulk_export_id: row.exportId,
    session_id: row.projectId,
    late: row.late,
    status: row.status,
    retry_number: row.retryNumber,
    errors: row.errors,
    start_time: isoFromMicros(row.startTime),
    end_time: isoFromMicros(row.endTime),
    metadata: {
      prefix: runFolder(row),
      start_time: isoFromMicros(row.startTime),
      end_time: isoFromMicros(row.endTime),
      execution_backend: null,
      result: started
        ? {
            rows_written: row.rows,
            bytes_written: row.bytes,
            exported_files: row.files.map(({ location }) => location),
            export_path: runFolder(row),
            latest_cursor: row.cursor === null ? null : cursorText(row.cursor),
            pending_upload: row.pending && { ...row.pending },
          }
        : null,
    },
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
    finished_at: iso(row.finishedAt),
  };
}

/** The position alone. */
const cursorText = ({ start_time, id }: ExportCursor): string => JSON.stringify({ start_time, id });
