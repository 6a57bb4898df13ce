/** The budgets and prices of workspaces that this isolate has read. A run costs no call for them. */
import { RowCache } from "../lib/cache.ts";
import { type BudgetRpc, workspaceBudgets } from "../limits/budgets/rpc.ts";

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
