/** What the server says of rules, budgets and checks (docs/flow-control.md, docs/budgets.md, docs/deploys.md). */

export interface Match {
  assistant?: string;
  thread?: string;
  user?: string;
  model?: string;
  metadata?: Record<string, string | number | boolean | null>;
}

type Source = "deployment" | "workspace";

export interface Rule {
  id: string;
  source: Source;
  match?: Match;
  key: string;
  paused?: true;
  concurrency?: number;
  starts_per_minute?: number;
  tokens_per_minute?: number;
  singleton?: "first" | "last";
  debounce_seconds?: number;
  priority?: number;
  fair_by?: string;
}

export interface RuleUse {
  rule: string;
  key: string;
  held: number;
  waiting: number;
  starts_last_minute: number;
  tokens_last_minute: number;
  oldest_at: string | null;
}

export interface WaitingRun {
  run_id: string;
  thread_id: string;
  priority: number;
  position: number;
  waiting_for: { rule: string; key: string; reason: string }[];
  since: string;
}

export interface Budget {
  id: string;
  source: Source;
  match?: Match;
  per: "run" | "thread" | "day";
  key?: string;
  dollars?: number;
  tokens?: number;
  at_limit: "ask" | "end";
  webhook?: string;
}

export interface BudgetUse {
  budget: string;
  key: string;
  unit: "dollars" | "tokens";
  spent: number;
  limit: number;
}

export interface DiedRun {
  id: string;
  trace_id: string;
  thread_id: string | null;
  name: string;
  error: string | null;
  end_time: string | null;
  extra?: { metadata?: { assistant_id?: string; run_id?: string } };
}

export interface Check {
  counts: Record<string, { checked: number; cannot_continue: number; migrated: number; unknown: number }>;
  threads: { thread_id: string; graph_id: string; reasons: string[] }[];
  /** Whether all threads are read. */
  complete: boolean;
}
