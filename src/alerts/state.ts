/** The states of an alert. */
import type { AlertCondition, AlertState } from "../automation/alerts/table.ts";

/** What an evaluation found: the condition holds, it does not, or there is no figure. */
export type Finding = "breach" | "clear" | "unknown";

/** For each state: the finding that leads to another one, when it comes often enough in a row. */
const TRANSITIONS: Record<AlertState, { on: Finding; after: "fireAfter" | "resolveAfter"; to: AlertState }> = {
  ok: { on: "breach", after: "fireAfter", to: "firing" },
  firing: { on: "clear", after: "resolveAfter", to: "resolved" },
  resolved: { on: "breach", after: "fireAfter", to: "firing" },
};

export interface Progress {
  state: AlertState;
  /** How many findings in a row have contradicted the state. */
  streak: number;
}

/** The state after a finding. One that is unknown changes nothing, so a pause of the traffic neither fires nor resolves. */
export function nextState(
  { state, streak }: Progress,
  finding: Finding,
  condition: Pick<AlertCondition, "fireAfter" | "resolveAfter">,
): Progress {
  if (finding === "unknown") return { state, streak };
  const { on, after, to } = TRANSITIONS[state];
  if (finding !== on) return { state, streak: 0 };
  return streak + 1 >= condition[after] ? { state: to, streak: 0 } : { state, streak: streak + 1 };
}

const COMPARISONS: Record<AlertCondition["operator"], (value: number, threshold: number) => boolean> = {
  gt: (value, threshold) => value > threshold,
  gte: (value, threshold) => value >= threshold,
  lt: (value, threshold) => value < threshold,
  lte: (value, threshold) => value <= threshold,
};

export function compareValue(value: number | null, { operator, threshold }: AlertCondition): Finding {
  if (value === null) return "unknown";
  return COMPARISONS[operator](value, threshold) ? "breach" : "clear";
}
