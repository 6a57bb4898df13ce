/** The shapes of exports, as the API has them. */
import type { Export, ExportRun } from "../../../../src/exports/wire.ts";
import type { Destination as WireDestination } from "../../../../src/exports/destinations/wire.ts";

type Unread = "tenant_id" | "all_experiments" | "format" | "format_version" | "created_at" | "updated_at";

/** Without `session_id`: of all experiments. Without `end_time`, and with `interval_hours`: a schedule. */
export type Job = Omit<Export, Unread> & { created_at: string };

type Result = NonNullable<ExportRun["metadata"]["result"]>;

/** `late`: it has what came late for a day of an earlier export. `errors`: why attempts failed, by attempt. */
export type Run = Omit<ExportRun, "created_at" | "updated_at" | "metadata"> & {
  updated_at: string;
  metadata: {
    prefix: string;
    result: Pick<Result, "rows_written" | "bytes_written" | "exported_files"> | null;
  };
};

export type Status = Export["status"];

export type Destination = Omit<WireDestination, "tenant_id" | "config"> & {
  config: Omit<WireDestination["config"], "s3_additional_kwargs">;
};

/** It has not ended. */
export const isOpen = ({ status }: Pick<Job, "status">) => status === "CREATED" || status === "RUNNING";
