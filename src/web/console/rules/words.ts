/** What a rule does, in words. */
import { shareText } from "../share.ts";
import type { Rule } from "./types.ts";

/** As the log of the rule names them (docs/rules.md). */
const ACTIONS: Record<string, string> = {
  annotation_queue: "add to queue",
  dataset: "add to dataset",
  code_evaluator: "code",
  evaluator: "judge",
  webhook: "webhook",
  run: "read the run",
};

export const actionText = (action: string): string => ACTIONS[action] ?? action;

/** "judge, 2 webhooks". */
export function listActions(rule: Rule): string {
  const { add_to_annotation_queue_id: queue, add_to_dataset_id: dataset, code_evaluators, evaluators, webhooks } = rule;
  const several = (list: unknown[] | null, one: string, many: string) =>
    list === null || list.length === 0 ? [] : [list.length === 1 ? one : `${list.length} ${many}`];
  return [
    ...(queue === null ? [] : ["queue"]),
    ...(dataset === null ? [] : ["dataset"]),
    ...several(code_evaluators, "code", "functions"),
    ...several(evaluators, "judge", "judges"),
    ...several(webhooks, "webhook", "webhooks"),
  ].join(", ");
}

export const samplingText = ({ sampling_rate }: Rule): string =>
  sampling_rate === 1 ? "all" : sampling_rate > 0 && sampling_rate < 0.001 ? "< 0.1%" : shareText(sampling_rate);
