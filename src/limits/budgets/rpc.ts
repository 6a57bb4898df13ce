/** What the rest of Weir may ask of the object that has a workspace's budgets, and how to reach it. */
import type { Budget } from "./rule.ts";
import { objectNamed, callObject } from "../../lib/rpc.ts";
import { retryCalls } from "../../lib/retry.ts";
import type { Price } from "../prices/price-list.ts";
import type { Unit } from "./claim.ts";
import { RowCache } from "../../lib/cache.ts";

/** What a run has spent of a budget on a day, in total: a report may come twice. */
export interface Report {
  budget: string;
  key: string;
  day: string;
  total: number;
  /** Of the budget, without what was approved. */
  limit: number;
  unit: Unit;
}

/** What all runs have spent. `warn`: this run is to say that 80 % are reached; the same at each of its reports. */
export interface Standing {
  spent: number;
  extra: number;
  warn: boolean;
}

export interface DayUse {
  budget: string;
  key: string;
  day: string;
  unit: Unit;
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
  report(runId: string, reports: Report[]): Promise<Standing[]>;
  /** Raises a day's limit of one key once for each question. */
  approve(of: Pick<Report, "budget" | "key" | "day">, questionId: string, amount: number): Promise<void>;
  uses(day: string, budget: string | undefined, most: number): Promise<DayUse[]>;
}

export function workspaceBudgets(env: Env, workspaceId: string): BudgetRpc {
  return retryCalls(() => callObject<BudgetRpc>(objectNamed(env, env.LEDGER, workspaceId)));
}

// The budgets and prices of workspaces that this isolate has read. A run costs no call for them.

type Known = Awaited<ReturnType<BudgetRpc["read"]>>;

/** Milliseconds for which an isolate trusts what it has read: docs/budgets.md names the age. */
const KEPT_MS = 30_000;

const known = new RowCache<Known>(undefined, KEPT_MS);

/** The budgets and prices of the workspace, as of some seconds ago at most. */
export async function knownBudgets(env: Env, workspaceId: string): Promise<Known> {
  return known.get(workspaceId, async () => workspaceBudgets(env, workspaceId).read());
}

/** Call this when a budget or a price changes. */
export function forgetBudgets(workspaceId: string): void {
  known.forget(workspaceId);
}
