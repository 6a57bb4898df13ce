/** The budgets and prices of workspaces that this isolate has read. A run costs no call for them. */
import { type BudgetRpc, workspaceBudgets } from "./rpc.ts";

type Known = Awaited<ReturnType<BudgetRpc["read"]>>;

/** Milliseconds for which an isolate trusts what it has read: docs/budgets.md names the age. */
const KEPT_MS = 30_000;
const KEPT_MOST = 10_000;

const known = new Map<string, { read: Known; until: number }>();
let changes = 0;

/** The budgets and prices of the workspace, as of some seconds ago at most. */
export async function knownBudgets(env: Env, workspaceId: string): Promise<Known> {
  const now = Date.now();
  const kept = known.get(workspaceId);
  if (kept && kept.until > now) return kept.read;
  const before = changes;
  const read = await workspaceBudgets(env, workspaceId).read();
  // What was read before a change may be what has changed.
  if (before !== changes) return read;
  if (known.size >= KEPT_MOST) known.clear();
  known.set(workspaceId, { read, until: now + KEPT_MS });
  return read;
}

/** Call this when a budget or a price changes. */
export function forgetBudgets(workspaceId: string): void {
  changes += 1;
  known.delete(workspaceId);
}
