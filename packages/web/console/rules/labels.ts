/** Labels of rules and their actions. */
import { shareText } from "../../ui/shares.ts";
import type { Rule } from "./types.ts";

/** As the log of the rule names them (docs/rules.md). */
const ACTIONS: Record<string, string> = {
  extend_retention: "keep for longer",
  annotation_queue: "add to queue",
  dataset: "add to dataset",
  code_evaluator: "code",
  evaluator: "judge",
  webhook: "webhook",
  run: "read the run",
  filter: "filter",
};

export const actionText = (action: string): string => ACTIONS[action] ?? action;

/** Whether the rule keeps the traces of its runs for longer than their project does. */
export const isExtending = (rule: Rule): boolean =>
  rule.extend_only ||
  rule.extend_evaluator_trace_retention ||
  rule.extend_dataset_trace_retention ||
  rule.extend_annotation_queue_trace_retention ||
  rule.extend_webhook_trace_retention;

/** "judge, 2 webhooks". */
export function listActions(rule: Rule): string {
  const { add_to_annotation_queue_id: queue, add_to_dataset_id: dataset, code_evaluators, evaluators, webhooks } = rule;
  const several = (list: unknown[] | null, one: string, many: string) =>
    list === null || list.length === 0 ? [] : [list.length === 1 ? one : `${list.length} ${many}`];
  return [
    ...(isExtending(rule) ? ["keep for longer"] : []),
    ...(queue === null ? [] : ["queue"]),
    ...(dataset === null ? [] : ["dataset"]),
    ...several(code_evaluators, "code", "functions"),
    ...several(evaluators, "judge", "judges"),
    ...several(webhooks, "webhook", "webhooks"),
  ].join(", ");
}

export const samplingText = ({ sampling_rate }: Rule): string =>
  sampling_rate === 1 ? "all" : sampling_rate > 0 && sampling_rate < 0.001 ? "< 0.1%" : shareText(sampling_rate);
