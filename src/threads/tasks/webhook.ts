/** The call of a run's webhook. */
import { addressFault } from "../../http/address.ts";
import type { Json } from "../../json.ts";
import { signedHeaders } from "../../webhooks/sign.ts";
import type { ThreadContext } from "../context.ts";
import { toWireRun } from "../run.ts";

const REQUEST_TIMEOUT_MS = 20_000;

/** What the outbox keeps of a call. */
export interface Delivery {
  run_id: string;
  url: string;
  /** The same at every attempt. Rows of earlier versions have none: each run has one webhook, so its id takes its place. */
  delivery?: string;
}

/** Calls the webhook of a run that has ended. Throws when its receiver does not answer with a 2xx status. */
export async function deliverWebhook(
  context: ThreadContext,
  { run_id, url, delivery = run_id }: Delivery,
): Promise<void> {
  const row = context.run(run_id);
  if (!row) return;
  // It was set when the deployment allowed it. Another attempt would change nothing.
  if (addressFault(url, context.env.ALLOW_PRIVATE_ADDRESSES === "true")) return;
  const { outcome } = row;
  const values = outcome.values ? (JSON.parse(context.values.flatAll(outcome.values)) as Json) : {};
  const body = JSON.stringify({
    ...toWireRun(row, context.threadId),
    workspace_id: context.workspaceId,
    delivery_id: delivery,
    run_started_at: new Date(row.due).toISOString(),
    run_ended_at: new Date(outcome.updated).toISOString(),
    webhook_sent_at: new Date().toISOString(),
    values,
    ...(outcome.error && { error: outcome.error }),
  });
  const signed = await signedHeaders(context.env, context.workspaceId, { delivery, body });
  const headers = { "content-type": "application/json", ...signed };
  const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
  const response = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`The webhook answered ${response.status}.`);
}
