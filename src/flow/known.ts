/** The rules of workspaces that this isolate has read. A run costs no call for them, and a rule that changes counts within the age. */
import { RowCache } from "../lib/cache.ts";
import type { FlowRule } from "../limits/flow/rule.ts";
import { flowControl } from "../limits/flow/rpc.ts";

/** Milliseconds for which an isolate trusts what it has read: docs/flow-control.md names the age. */
const KEPT_MS = 30_000;

const known = new RowCache<FlowRule[]>(undefined, KEPT_MS);

/** The rules of the workspace, as of some seconds ago at most. */
export async function knownRules(env: Env, workspaceId: string): Promise<FlowRule[]> {
  return known.get(workspaceId, async () => flowControl(env, workspaceId).rules());
}

/** The rules of the workspace where this isolate has just read them. */
export const peekRules = (workspaceId: string): FlowRule[] | undefined => known.peek(workspaceId);

/** Call this when a rule changes. */
export function forgetRules(workspaceId: string): void {
  known.forget(workspaceId);
}
