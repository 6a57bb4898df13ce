/** Rules on runs as the API has them (docs/rules.md). */

export type Model =
  | { provider: "workers-ai"; model: string; temperature?: number }
  | { provider: "openai"; model: string; temperature?: number; base_url?: string; api_key?: string }
  | { provider: "assistant"; assistant_id: string };

export interface Judge {
  prompt: [role: string, text: string][];
  template_format: "f-string" | "mustache";
  variable_mapping: Record<string, string>;
  schema: object;
  model: Model;
}

interface Hook {
  url: string;
  headers: Record<string, string> | null;
}

export interface Rule {
  id: string;
  display_name: string;
  is_enabled: boolean;
  session_id: string;
  session_name: string | null;
  sampling_rate: number;
  filter: string | null;
  trace_filter: string | null;
  tree_filter: string | null;
  add_to_annotation_queue_id: string | null;
  add_to_annotation_queue_name: string | null;
  add_to_dataset_id: string | null;
  add_to_dataset_name: string | null;
  evaluators: { structured: Judge }[] | null;
  code_evaluators: { code: string }[] | null;
  webhooks: Hook[] | null;
  extend_only: boolean;
  extend_evaluator_trace_retention: boolean;
  extend_dataset_trace_retention: boolean;
  extend_annotation_queue_trace_retention: boolean;
  extend_webhook_trace_retention: boolean;
  created_at: string;
  stats: { taken: number; waiting: number; done: number; failed: number; cost: number };
}

export interface Failure {
  run_id: string;
  action: string;
  error: string;
  time: string;
  will_retry: boolean;
}

/** A run that the rule has taken and not done. */
export interface WaitingRun {
  run_id: string;
  /** The next one. */
  action: string | null;
  time: string | null;
  /** It has failed before. */
  will_retry: boolean;
}

export interface Backfill {
  id: string;
  start_time: string;
  end_time: string;
  status: "running" | "completed";
  created_at: string;
  completed_at: string | null;
  parts_left: number;
}

/** Feedback that a rule gave. */
export interface Score {
  id: string;
  run_id: string;
  trace_id?: string | null;
  key: string;
  score: number | boolean | null;
  value: unknown;
  comment: string | null;
  created_at: string;
  feedback_source: { metadata?: { rule_id?: string } | null } | null;
}

/** A run that a failure or a score names. */
export interface NamedRun {
  id: string;
  trace_id: string;
  name: string;
}
