/** One evaluation: what its actions are given. */
import type { ReceiverSecrets } from "../deliveries/receiver.ts";
import { deriveUuid } from "../lib/uuid.ts";
import type { Behalf } from "../http/loopback.ts";
import type { Place } from "../traces/types.ts";
import type { RuleRow } from "../automation/rules/store.ts";

export interface RuleCall {
  env: Env;
  rule: RuleRow;
  /** Headers of webhooks and keys of models. */
  secrets: ReceiverSecrets;
  place: Place;
  runId: string;
  /** How often the run was given, this time included. */
  attempt: number;
  /** The number of the action in the rule. */
  step: number;
  /** Who acts: the workspace. */
  behalf: Behalf;
}

/** The same at every attempt of this action on this run. `part` tells apart what one action makes. */
export const evaluatorName = ({ rule, runId, step }: RuleCall, part = ""): string =>
  deriveUuid(["rule", rule.id, runId, String(step), part].join("\n"));
