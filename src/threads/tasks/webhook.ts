/** The webhook of a run. */
import { readOwnPath } from "../../deliveries/receiver.ts";
import { actingRun } from "../../http/loopback.ts";
import type { Json } from "../../lib/json.ts";
import type { AskedByCall } from "../answering.ts";
import type { ThreadContext } from "../context.ts";
import { type StoredRun, toWireRun } from "../run.ts";
import { type Call, CALL_OF, packCall } from "../../deliveries/send.ts";

/** What the outbox keeps of a webhook while its run exists. */
export interface Delivery {
  run_id: string;
  url: string;
  /** The path of the project's `app` that is called in place of the address. */
  path?: string;
  /** The same at every attempt. Rows of earlier versions have none: each run has one webhook, so its id takes its place. */
  delivery?: string;
}

/** The questions of a run that asks: as the payload has them, and what an answer of the receiver is for. */
export interface Questions {
  interrupts: Json[];
  asked: AskedByCall;
}

/** Queues the call of a run's webhook. Called inside the transaction that ends the run. */
export function queueWebhook(context: ThreadContext, run: StoredRun, url: string): void {
  const given: Delivery = { run_id: run.id, url, path: readOwnPath(run.request), delivery: crypto.randomUUID() };
  // The same transaction deletes a run that is rolled back.
  if (run.outcome.stopped !== "rollback") context.tables.outbox.add("webhook", JSON.stringify(given));
  else context.tables.outbox.add(CALL_OF.webhook as string, packCall(webhookCall(context, run, given)));
}

/** What the webhook of a run that has ended sends. */
export function webhookCall(
  { workspaceId, threadId, values }: ThreadContext,
  run: StoredRun,
  { url, path, delivery = run.id }: Delivery,
  questions?: Questions,
): Call {
  const { error, stopped, updated, values: refs } = run.outcome;
  const head = JSON.stringify({
    ...toWireRun(run, threadId),
    workspace_id: workspaceId,
    delivery_id: delivery,
    run_started_at: new Date(run.due).toISOString(),
    run_ended_at: new Date(updated).toISOString(),
    ...(error && { error }),
    ...(questions && { interrupts: questions.interrupts }),
  });
  // The state of a run that was rolled back is deleted with it.
  const state = refs && stopped !== "rollback" ? values.flatAll(refs) : "{}";
  const body = `${head.slice(0, -1)},"values":${state}}`;
  const own = path === undefined ? undefined : { path, by: actingRun(run) };
  const call = { url, own, delivery, headers: { "content-type": "application/json" }, body, stamp: "webhook_sent_at" };
  return questions && questions.asked.links.length > 0 ? { ...call, asked: questions.asked } : call;
}
