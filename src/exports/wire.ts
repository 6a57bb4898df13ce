/** Exports and export runs on the wire. The page reads these types: this file imports no part of the server but shapes. */
import * as v from "valibot";
import { AnyObject, Count, Id, Time } from "../http/shapes.ts";

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
export type Export = v.InferOutput<typeof Export>;

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
export type ExportRun = v.InferOutput<typeof ExportRun>;
