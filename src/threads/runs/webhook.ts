/**
 * What the webhooks of a run say: the run when it has ended, and a warning when 80 % of a budget are spent. The outbox sends them
 * (outbox.ts); deliveries/send.ts signs them.
 */
import { type Delivery, PACKED_KINDS, packDelivery } from "../../deliveries/send.ts";
import { readOwnPath } from "../../deliveries/receiver.ts";
import { principalOfRun } from "../../http/loopback.ts";
import type { Json } from "../../lib/json.ts";
import type { RunBudget, BudgetUnit } from "../../limits/budgets/rpc.ts";
import type { ThreadContext } from "../context.ts";
import { type RunRecord, toWireRun } from "../run.ts";
import type { InterruptsOfDelivery } from "../types.ts";

/** What the outbox keeps of a webhook while its run exists. */
export interface QueuedWebhook {
  run_id: string;
  url: string;
  /** The path of the project's `app` that is called in place of the address. */
  path?: string;
  /** The same at every attempt. */
  delivery: string;
}

/** The questions of a run that asks: as the payload has them, and what an answer of the receiver is for. */
export interface WebhookInterrupts {
  interrupts: Json[];
  asked: InterruptsOfDelivery;
}

/** Queues the call of a run's webhook. Called inside the transaction that ends the run. */
export function queueWebhook(context: ThreadContext, run: RunRecord, url: string): void {
  const given: QueuedWebhook = { run_id: run.id, url, path: readOwnPath(run.request), delivery: crypto.randomUUID() };
  // The same transaction deletes a run that is rolled back.
  if (run.outcome.stopped !== "rollback") context.tables.outbox.add("webhook", JSON.stringify(given));
  else context.tables.outbox.add(PACKED_KINDS.webhook as string, packDelivery(webhookDelivery(context, run, given)));
}

/** What the webhook of a run that has ended sends. */
export function webhookDelivery(
  context: ThreadContext,
  run: RunRecord,
  { url, path, delivery }: QueuedWebhook,
  interrupts?: WebhookInterrupts,
): Delivery<InterruptsOfDelivery> {
  const { workspaceId, values } = context;
  const { error, stopped, updated, values: refs } = run.outcome;
  const head = JSON.stringify({
    ...toWireRun(run, context),
    workspace_id: workspaceId,
    delivery_id: delivery,
    run_started_at: new Date(run.due).toISOString(),
    run_ended_at: new Date(updated).toISOString(),
    ...(error && { error }),
    ...(interrupts && { interrupts: interrupts.interrupts }),
  });
  // The state of a run that was rolled back is deleted with it.
  const state = refs && stopped !== "rollback" ? values.flatAll(refs) : "{}";
  const body = `${head.slice(0, -1)},"values":${state}}`;
  const own = path === undefined ? undefined : { path, by: principalOfRun(run) };
  const call = { url, own, delivery, headers: { "content-type": "application/json" }, body, stamp: "webhook_sent_at" };
  return interrupts && interrupts.asked.links.length > 0 ? { ...call, asked: interrupts.asked } : call;
}

/** What the event and the webhook of a budget say. */
interface BudgetWarning {
  budget: string;
  per: string;
  key: string;
  day?: string;
  unit: BudgetUnit;
  spent: number;
  limit: number;
  run_id: string;
  thread_id: string;
}

export function buildWarning(
  { threadId }: ThreadContext,
  { id: run_id }: RunRecord,
  {
    budget: { id, per, key, unit },
    spent,
    limit,
    day,
  }: { budget: RunBudget; spent: number; limit: number; day?: string },
): BudgetWarning {
  return { budget: id, per, key, ...(day && { day }), unit, spent, limit, run_id, thread_id: threadId };
}

/** Queues the call of the budget's webhook, else of the run's. Called inside a transaction. */
export function queueWarning(
  { tables, workspaceId }: ThreadContext,
  run: RunRecord,
  { webhook }: RunBudget,
  warning: BudgetWarning,
): void {
  const url = webhook ?? run.request.webhook;
  if (url === undefined) return;
  const delivery = crypto.randomUUID();
  const path = webhook === undefined ? readOwnPath(run.request) : undefined;
  const body: Json = { type: "budget.warning", delivery_id: delivery, workspace_id: workspaceId, ...warning };
  const call: Delivery = {
    url,
    own: path === undefined ? undefined : { path, by: principalOfRun(run) },
    delivery,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    stamp: "webhook_sent_at",
  };
  tables.outbox.add(PACKED_KINDS.webhook as string, packDelivery(call));
}
