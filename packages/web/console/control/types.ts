/** Shapes of rules, budgets and checks (docs/flow-control.md, docs/budgets.md, docs/deploys.md). */
import type { Budget as RunBudget } from "../../../../src/limits/budgets/rule.ts";
import type { FlowRule } from "../../../../src/limits/flow/rule.ts";

export type Match = NonNullable<FlowRule["match"]>;

interface Sourced {
  source: "deployment" | "workspace";
}

export type Rule = FlowRule & Sourced;

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

export type Budget = RunBudget & Sourced;

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
