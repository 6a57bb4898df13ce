/** What the outbox does for budgets: the call at 80 %, and reports to the ledger that a run could not make. */
import type { RunBudget, Spent, Unit } from "../../limits/budgets/claim.ts";
import { type Report, workspaceBudgets } from "../../limits/budgets/rpc.ts";
import type { Json } from "../../lib/json.ts";
import { readOwnPath } from "../../deliveries/receiver.ts";
import { actingRun } from "../../http/loopback.ts";
import type { ThreadContext } from "../context.ts";
import type { StoredRun } from "../run.ts";
import { type Call, CALL_OF, packCall } from "../../deliveries/send.ts";

/** What the event and the webhook say. */
interface Warning {
  budget: string;
  per: string;
  key: string;
  day?: string;
  unit: Unit;
  spent: number;
  limit: number;
  run_id: string;
  thread_id: string;
}

export function buildWarning(
  { threadId }: ThreadContext,
  { id: run_id }: StoredRun,
  {
    budget: { id, per, key, unit },
    spent,
    limit,
    day,
  }: { budget: RunBudget; spent: number; limit: number; day?: string },
): Warning {
  return { budget: id, per, key, ...(day && { day }), unit, spent, limit, run_id, thread_id: threadId };
}

/** Queues the call of the budget's webhook, else of the run's. Called inside a transaction. */
export function queueWarning(
  { tables, workspaceId }: ThreadContext,
  run: StoredRun,
  { webhook }: RunBudget,
  warning: Warning,
): void {
  const url = webhook ?? run.request.webhook;
  if (url === undefined) return;
  const delivery = crypto.randomUUID();
  const path = webhook === undefined ? readOwnPath(run.request) : undefined;
  const body: Json = { type: "budget.warning", delivery_id: delivery, workspace_id: workspaceId, ...warning };
  const call: Call = {
    url,
    own: path === undefined ? undefined : { path, by: actingRun(run) },
    delivery,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    stamp: "webhook_sent_at",
  };
  tables.outbox.add(CALL_OF.webhook as string, packCall(call));
}

/** What the ledger has not, by day. `today`: also of this day, so that it answers. */
export function buildReports(
  { id, key, limit, unit }: RunBudget,
  { days = {}, reported = {} }: Spent,
  today?: string,
): Report[] {
  const missing = Object.keys(days).filter((day) => days[day] !== reported[day]);
  const named = new Set(today === undefined ? missing : [...missing, today]);
  return [...named].map((day) => ({ budget: id, key, day, total: days[day] ?? 0, limit, unit }));
}

interface Spending {
  run_id: string;
  reports: Report[];
}

/** Queues what the ledger does not have of an ended run. Called inside the transaction that ends it. */
export function queueReports({ tables }: ThreadContext, { id, request, outcome }: StoredRun): void {
  const reports = (request.budgets ?? []).flatMap((budget) => {
    const state = outcome.spent?.[budget.id];
    return state && budget.per === "day" ? buildReports(budget, state) : [];
  });
  if (reports.length > 0) tables.outbox.add("spent", JSON.stringify({ run_id: id, reports } satisfies Spending));
}

export async function sendReports({ env, workspaceId }: ThreadContext, body: string): Promise<void> {
  const { run_id, reports } = JSON.parse(body) as Spending;
  await workspaceBudgets(env, workspaceId).report(run_id, reports);
}
