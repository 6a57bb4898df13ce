/** Rules on runs as the API has them (docs/rules.md). */
import type { Rule as WireRule, RuleLog } from "../../../../src/automation/rules/wire.ts";
import type { StoredFeedback } from "../../../../src/traces/types.ts";

export type { Backfill } from "../../../../src/automation/rules/wire.ts";

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

export type Rule = Omit<WireRule, "evaluators"> & { evaluators: { structured: Judge }[] | null };

export type Failure = RuleLog & { action: string; error: string; time: string };

/** A run that the rule has taken and not done. */
export type WaitingRun = RuleLog & { run_id: string };

/** Feedback that a rule gave. */
export type Score = StoredFeedback & {
  run_id: string;
  feedback_source: { metadata?: { rule_id?: string } | null };
};

/** A run that a failure or a score names. */
export interface NamedRun {
  id: string;
  trace_id: string;
  name: string;
}
