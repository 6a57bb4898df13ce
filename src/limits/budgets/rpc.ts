/** What the rest of Weir may ask of the object that has a workspace's budgets, and how to reach it. */
import type { Budget, BudgetPeriod } from "./rule.ts";
import { mergeRules } from "../flow/rule.ts";
import { applies, keyIn, type FlowRunFacts } from "../flow/run-flow.ts";
import { objectNamed, rpcProxy } from "../../lib/rpc.ts";
import { retryCalls } from "../../lib/retry.ts";
import type { Price } from "../prices/price-list.ts";
import { RowCache } from "../../lib/cache.ts";

// Which budgets apply to a run, and what is spent of them.

export type BudgetUnit = "dollars" | "tokens";

/** A budget that applies to a run, as it travels with the run's request. */
export interface RunBudget {
  id: string;
  per: BudgetPeriod;
  /** What counts apart within a day; empty for a run and a thread. */
  key: string;
  unit: BudgetUnit;
  /** Without what was approved. */
  limit: number;
  at_limit: "ask" | "end";
  webhook?: string;
}

/** What has been spent of a budget, as a thread keeps it. */
export interface BudgetSpending {
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
export function budgetsFor(deployed: Budget[], own: Budget[], facts: FlowRunFacts): RunBudget[] | undefined {
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

const amount = (value: number, unit: BudgetUnit): string => (unit === "dollars" ? `$${value}` : `${value} tokens`);

/** What a run has spent of a budget on a day, in total: a report may come twice. */
export interface SpendReport {
  budget: string;
  key: string;
  day: string;
  total: number;
  /** Of the budget, without what was approved. */
  limit: number;
  unit: BudgetUnit;
}

/** What all runs have spent. `warn`: this run is to say that 80 % are reached; the same at each of its reports. */
export interface BudgetUsage {
  spent: number;
  extra: number;
  warn: boolean;
}

export interface DayUse {
  budget: string;
  key: string;
  day: string;
  unit: BudgetUnit;
  spent: number;
  limit: number;
  approved: number;
}

/** All calls may be carried out twice. */
export interface BudgetRpc {
  /** The budgets of the workspace, by their ids, and its prices. */
  read(): Promise<{ budgets: Budget[]; prices: Price[] }>;
  /** Creates or replaces a budget. False when the workspace has too many. */
  putBudget(budget: Budget): Promise<boolean>;
  deleteBudget(id: string): Promise<void>;
  putPrices(prices: Price[]): Promise<void>;
  /** Stores what a run has spent, and gives for each budget what all runs have. */
  report(runId: string, reports: SpendReport[]): Promise<BudgetUsage[]>;
  /** Raises a day's limit of one key once for each question. */
  approve(of: Pick<SpendReport, "budget" | "key" | "day">, interruptId: string, amount: number): Promise<void>;
  uses(day: string, budget: string | undefined, most: number): Promise<DayUse[]>;
}

export function workspaceBudgets(env: Env, workspaceId: string): BudgetRpc {
  return retryCalls(() => rpcProxy<BudgetRpc>(objectNamed(env, env.LEDGER, workspaceId)));
}

// The budgets and prices of workspaces that this isolate has read. A run costs no call for them.

type WorkspaceBudgets = Awaited<ReturnType<BudgetRpc["read"]>>;

/** Milliseconds for which an isolate trusts what it has read: docs/budgets.md names the age. */
const KEPT_MS = 30_000;

const known = new RowCache<WorkspaceBudgets>(undefined, KEPT_MS);

/** The budgets and prices of the workspace, as of some seconds ago at most. */
export async function knownBudgets(env: Env, workspaceId: string): Promise<WorkspaceBudgets> {
  return known.get(workspaceId, async () => workspaceBudgets(env, workspaceId).read());
}

/** Call this when a budget or a price changes. */
export function forgetBudgets(workspaceId: string): void {
  known.forget(workspaceId);
}
