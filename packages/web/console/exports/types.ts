/** The shapes of exports, as the API has them. */
import type { Export, ExportRun } from "../../../../src/exports/wire.ts";

/** Without `session_id`: of all experiments. Without `end_time`, and with `interval_hours`: a schedule. */
export type Job = Export & { created_at: string };

/** `late`: it has what came late for a day of an earlier export. `errors`: what went wrong, by attempt. */
export type Run = ExportRun & { updated_at: string };

export type Status = Export["status"];

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
