/** Export jobs and export runs on the wire. */
import type { ExportCursor } from "./table.ts";
import { isoFromMicros } from "../traces/time.ts";
import { runFolder } from "./slice.ts";
import type { ExportRow, ExportRunRow, ExportProgress } from "./store.ts";
import type { Export, ExportRun } from "./wire.ts";

export { Export, ExportRun } from "./wire.ts";

const iso = (milliseconds: number | null) => (milliseconds === null ? null : new Date(milliseconds).toISOString());

/** Specification 2.5, LangSmith's further members, and how far the export has come. Every member is always there. */
export function toWireExport(row: ExportRow, progress: ExportProgress, lateRuns: number | null = null): Export {
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
export function toWireRun(row: ExportRunRow): ExportRun {
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
