/** The trace API's shapes, as far as the page reads them. */
import type { Chosen } from "./runs/facets.ts";

export interface TraceRow {
  id: string;
  trace_id: string;
  /** Its project. */
  session_id: string;
  name: string;
  status: string;
  start_time: string;
  end_time: string | null;
  total_tokens: number;
  total_cost: string | null;
  inputs_preview: string | null;
  outputs_preview?: string | null;
  first_token_time?: string | null;
  error: string | null;
  feedback_stats?: Record<string, { n: number; avg?: number | null }> | null;
}

/** A run of a trace, without what it was given and gave. */
export interface Span {
  id: string;
  name: string;
  /** In upper case, as `status`. */
  run_type: string;
  status: string;
  start_time: string;
  latency_seconds: number | null;
  first_token_time: string | null;
  total_tokens: number;
  /** Dollars. */
  total_cost: number | null;
  /** Root first. */
  parent_run_ids: string[];
  project_id: string;
}

export interface RunDetails {
  id: string;
  start_time: string;
  first_token_time: string | null;
  inputs: unknown;
  outputs: unknown;
  error: string | null;
  extra: { metadata?: Record<string, unknown>; invocation_params?: unknown };
  tags: string[] | null;
  thread_id: string | null;
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  total_cost: string | null;
}

/** Which traces are listed. */
export interface Wanted {
  project: string | undefined;
  failed: boolean;
  /** Also the runs below the roots. */
  all: boolean;
  /** In the query language. */
  filter: string;
  /** Plain words. */
  words: string;
  facets: Chosen;
}
