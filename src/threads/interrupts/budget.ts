/** The question of a run that has reached a budget, and what an answer to it says. */
import { deriveUuid } from "../../lib/uuid.ts";
import { isObject } from "../../lib/json.ts";
import type { BudgetPeriod } from "../../limits/budgets/rule.ts";
import { describeReached, type RunBudget, type BudgetUnit } from "../../limits/budgets/rpc.ts";

/** The value of the interrupt. */
export interface BudgetInterrupt {
  type: "budget";
  budget: string;
  per: BudgetPeriod;
  key: string;
  /** Of a budget a day. */
  day?: string;
  unit: BudgetUnit;
  spent: number;
  /** With what was approved before. */
  limit: number;
  /** What the answer `true` approves. */
  more: number;
  run_id: string;
  message: string;
}

/** What one answer may approve. */
const MAX_APPROVED = 1_000_000_000_000;

export function interruptFor(budget: RunBudget, spent: number, limit: number, runId: string, day?: string) {
  const { id, per, key, unit, limit: more } = budget;
  const message = `${describeReached(budget, spent, limit)} Approve more to continue: {"approve": ${more}}.`;
  const dated = per === "day" && { day };
  const value: BudgetInterrupt = {
    type: "budget",
    budget: id,
    per,
    key,
    ...dated,
    unit,
    spent,
    limit,
    more,
    run_id: runId,
    message,
  };
  return { id: idFor(value), value };
}

/**
 * The question of a budget. Undefined for a question of the graph, for every value that it has: the id is derived from the value,
 * and LangGraph derives its ids from the places of tasks. The parallel tasks of a run ask one question.
 */
export function budgetInterrupt({ id, value }: { id?: string; value?: unknown }): BudgetInterrupt | undefined {
  if (!isObject(value) || value.type !== "budget") return undefined;
  const interrupt = value as unknown as BudgetInterrupt;
  return id === idFor(interrupt) ? interrupt : undefined;
}

/** An id in the form of LangGraph's own ones, by which clients address answers. */
function idFor({ budget, key, day = "", limit, run_id }: BudgetInterrupt): string {
  return deriveUuid(`budget question ${JSON.stringify([budget, key, day, limit, run_id])}`).replaceAll("-", "");
}

const YES = /^(?:true|yes|approved?)$/i;
const SUM = /^\$?(\d+(?:\.\d+)?)$/;

/**
 * What an answer approves: `{approve: 0.5}`, `{approve: true}`, the amount or `true` alone, or one of these as a text. Undefined
 * when it declines.
 */
export function approvedBy(answer: unknown, more: number): number | undefined {
  const given = isObject(answer) ? answer.approve : answer;
  if (given === true) return more;
  const text = typeof given === "string" ? given.trim() : "";
  if (YES.test(text)) return more;
  const sum = typeof given === "number" ? given : Number(SUM.exec(text)?.[1] ?? Number.NaN);
  return sum > 0 && sum <= MAX_APPROVED ? sum : undefined;
}
