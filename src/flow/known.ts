/** The rules of workspaces that this isolate has read. A run costs no call for them, and a rule that changes counts within the age. */
import { flowControl } from "./rpc.ts";
import type { FlowRule } from "../flow-rule.ts";

/** Milliseconds for which an isolate trusts what it has read: docs/flow-control.md names the age. */
const KEPT_MS = 30_000;
const KEPT_MOST = 10_000;

const known = new Map<string, { rules: FlowRule[]; until: number }>();
let changes = 0;

/** The rules of the workspace, as of some seconds ago at most. */
export async function knownRules(env: Env, workspaceId: string): Promise<FlowRule[]> {
  const now = Date.now();
  const kept = known.get(workspaceId);
  if (kept && kept.until > now) return kept.rules;
  const before = changes;
  const rules = await flowControl(env, workspaceId).rules();
  // What was read before a change may be what has changed.
  if (before !== changes) return rules;
  if (known.size >= KEPT_MOST) known.clear();
  known.set(workspaceId, { rules, until: now + KEPT_MS });
  return rules;
}

/** Call this when a rule changes. */
export function forgetRules(workspaceId: string): void {
  changes += 1;
  known.delete(workspaceId);
}
