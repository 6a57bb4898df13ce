/** The shapes of exports, as the API has them. */

export type Status = "CREATED" | "RUNNING" | "COMPLETED" | "FAILED" | "CANCELLED" | "TIMEDOUT";

export interface Job {
  id: string;
  bulk_export_destination_id: string;
  /** Null: all experiments. */
  session_id: string | null;
  start_time: string;
  /** Null: a schedule. */
  end_time: string | null;
  filter: string | null;
  compression: string;
  /** Set: a schedule. */
  interval_hours: number | null;
  export_fields: string[] | null;
  status: Status;
  error: string | null;
  /** The schedule that made it. */
  source_bulk_export_id: string | null;
  created_at: string;
  finished_at: string | null;
  progress: {
    rows_written: number;
    bytes_written: number;
    files_written: number;
    runs_total: number;
    runs_completed: number;
    fraction: number;
  };
  late_runs: number | null;
}

export interface Run {
  id: string;
  bulk_export_id: string;
  session_id: string;
  /** It has what came late for a day of an earlier export. */
  late: boolean;
  status: Status;
  retry_number: number;
  /** What went wrong, by attempt. */
  errors: Record<string, string> | null;
  start_time: string;
  end_time: string;
  metadata: {
    prefix: string;
    result: { rows_written: number; bytes_written: number; exported_files: string[] } | null;
  };
  updated_at: string;
  finished_at: string | null;
}

export interface Destination {
  id: string;
  destination_type: "s3" | "r2";
  display_name: string;
  config: {
    bucket_name: string;
    prefix: string;
    region: string | null;
    endpoint_url: string | null;
    include_bucket_in_prefix: boolean;
    config_kwargs_s3: { addressing_style?: string | null } | null;
  };
  /** The names of the credentials that are set. */
  credentials_keys: string[];
  created_at: string;
  updated_at: string;
}

/** It has not ended. */
export const isOpen = ({ status }: Pick<Job, "status">) => status === "CREATED" || status === "RUNNING";
