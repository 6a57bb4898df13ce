/** Which budgets apply to a run, and what is spent of them. */
import type { Budget, Period } from "./rule.ts";
import { mergeRules } from "../flow/rule.ts";
import { applies, keyIn, type RunFacts } from "../flow/claim.ts";

export type Unit = "dollars" | "tokens";

/** A budget that applies to a run, as it travels with the run's request. */
export interface RunBudget {
  id: string;
  per: Period;
  /** What counts apart within a day; empty for a run and a thread. */
  key: string;
  unit: Unit;
  /** Without what was approved. */
  limit: number;
  at_limit: "ask" | "end";
  webhook?: string;
}

/** What has been spent of a budget, as a thread keeps it. */
export interface Spent {
  spent: number;
  /** Approved by people, above the budget's limit. */
  extra?: number;
  /** The questions whose answers approved that. Of a budget a day, the ledger has them. */
  approved?: string[];
  /** The event at 80 % has been sent. Of a budget a day: for this day. */
  warned?: true | string;
  /** Of a budget a day: what this run has spent, by day, and what of that the workspace's ledger has. */
  days?: Record<string, number>;
  reported?: Record<string, number>;
}

/** The part of a limit at which the event and the webhook are sent. */
export const WARN_AT = 0.8;

/** The budgets of the run: of langgraph.json first, then of the workspace. Undefined when none applies. */
export function budgetsFor(deployed: Budget[], own: Budget[], facts: RunFacts): RunBudget[] | undefined {
  if (deployed.length === 0 && own.length === 0) return undefined;
  const applying = mergeRules(deployed, own).flatMap((budget): RunBudget[] => {
    const { id, per, dollars, tokens, at_limit, webhook } = budget;
    const key = per === "day" ? keyIn(budget.key ?? "workspace", facts) : "";
    if (key === undefined || !applies(budget, facts)) return [];
    const limited =
      dollars === undefined
        ? { unit: "tokens" as const, limit: tokens ?? 0 }
        : { unit: "dollars" as const, limit: dollars };
    return [{ id, per, key, ...limited, at_limit, ...(webhook !== undefined && { webhook }) }];
  });
  return applying.length > 0 ? applying : undefined;
}

/** The UTC day of a time in milliseconds. */
export const formatDay = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** Why a run or a call stops. */
export function describeReached({ id, per, key, unit }: RunBudget, spent: number, limit: number): string {
  const whose = key === "" ? "" : ` of "${key}"`;
  return `The budget "${id}"${whose} is reached: ${amount(spent, unit)} of ${amount(limit, unit)} a ${per}.`;
}

const amount = (value: number, unit: Unit): string => (unit === "dollars" ? `$${value}` : `${value} tokens`);
