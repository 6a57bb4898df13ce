/** Side effects of a run's end, carried out at least once: they are queued in the transaction that ends the run. */
import { addressFault } from "../../http/address.ts";
import { logError } from "../../http/log.ts";
import type { Json } from "../../json.ts";
import { toWireRun, type StoredRun } from "../runs/runs.ts";
import type { ThreadContext } from "../context.ts";
import type { OutboxRow } from "./outbox-store.ts";
import type { RunFacts, Tracer } from "../../runtime/tracer.ts";
import { ownProject, storeOwnRuns } from "../../traces/self.ts";
import { signedHeaders } from "../../webhooks/sign.ts";
import type { TaskEffect } from "./effect.ts";
import { queueTaskEffects } from "./tasks.ts";

/** Seconds before the next attempt, by how many have failed; after the last one the effect is given up and logged. */
const RETRY_SECONDS = [1, 5, 30, 120, 600, 3_600, 3_600, 3_600];
const REQUEST_TIMEOUT_MS = 20_000;
/** Kinds of effects that wait for each other: a receiver that hangs keeps neither traces nor other receivers' calls. */
const TRACES = ["trace"];
const LANES = [TRACES, ["webhook"], ["task", "task-hook"]];
type Lane = readonly string[];
/** Characters of trace runs in one row: even at three bytes each it stays under SQLite's 2 MB. */
const TRACE_ROW = 400_000;
/** Characters of a trace that the thread's own row holds at most: changes of the thread write that row again. */
const TRACE_IN_THREAD = 100_000;

/** Queues what a run's end brings about. Called inside the transaction that ends it, before that writes the thread's row. */
export function queueSideEffects(context: ThreadContext, run: StoredRun, tracer?: Tracer): void {
  const { webhook } = run.request;
  if (tracer) queueTrace(context, run, tracer);
  if (webhook)
    context.tables.outbox.add(
      "webhook",
      JSON.stringify({ run_id: run.id, url: webhook, delivery: crypto.randomUUID() }),
    );
  queueTaskEffects(context, run);
}

/** A trace's texts in rows that SQLite can hold. An error here loses the trace, never the run. */
function queueTrace(context: ThreadContext, run: StoredRun, tracer: Tracer): void {
  const { langsmith_tracer: wanted } = run.request;
  const project = ownProject(context.env, wanted?.project_name);
  if (project === undefined) return;
  try {
    const texts = tracer.finish({
      run: factsOf(run),
      project,
      error: run.outcome.error?.message,
      referenceExampleId: wanted?.example_id,
    });
    let batch: string[] = [];
    let size = 0;
    const { outbox } = context.tables;
    if (texts.length === 0) return;
    if (texts.reduce((sum, text) => sum + text.length, 0) <= TRACE_IN_THREAD)
      return outbox.keepTrace(`[${texts.join(",")}]`);
    const queue = () => outbox.add("trace", `[${batch.join(",")}]`);
    for (const text of texts) {
      if (batch.length > 0 && size + text.length > TRACE_ROW) {
        queue();
        [batch, size] = [[], 0];
      }
      batch.push(text);
      size += text.length;
    }
    if (batch.length > 0) queue();
  } catch (error) {
    logError(error, { thread: context.threadId, while: "writing its trace" });
  }
}

function factsOf({ status, due, outcome: { began = due, first_event, updated } }: StoredRun): RunFacts {
  return {
    status,
    queued_ms: began - due,
    first_event_ms: first_event === undefined ? undefined : first_event - due,
    took_ms: updated - began,
  };
}

/**
 * Carries out what is due: each effect is removed when done, or put off. The effects of one lane follow each other, and
 * so do calls, because a run's end and the alarm start the same effects at the same time.
 */
export async function deliver(context: ThreadContext): Promise<void> {
  await Promise.all(LANES.map((lane) => inTurn(context, lane)));
}

async function inTurn(context: ThreadContext, lane: Lane): Promise<void> {
  const before = context.delivering.get(lane) ?? Promise.resolve();
  const delivering = before.catch(() => undefined).then(() => deliverDue(context, lane));
  context.delivering.set(lane, delivering);
  return delivering;
}

async function deliverDue(context: ThreadContext, lane: Lane): Promise<void> {
  // The content is read from the log.
  await context.eventLog.settled();
  const due = () => context.tables.outbox.due(Date.now(), lane);
  for (let rows = due(); rows.length > 0; rows = due()) {
    // Traces have no order, and each waits for company in its partition.
    if (lane === TRACES) await Promise.all(rows.map((row) => deliverOne(context, row)));
    else for (const row of rows) await deliverOne(context, row);
    // The table is read again for pending rows, so finished rows must be deleted first.
    if ((context.tables.outbox.nextDue() ?? Infinity) <= Date.now()) context.eventLog.flush();
  }
}

async function deliverOne(context: ThreadContext, row: OutboxRow): Promise<void> {
  try {
    await carryOut(context, row);
    if (row.kind !== "trace") return context.tables.outbox.remove(row.id);
    // A trace may be sent twice, so its row is removed with the next transaction: of another run, or of the alarm.
    const id = context.tables.outbox.done(row.id);
    if (id !== undefined) context.eventLog.due(() => context.tables.outbox.remove(id));
  } catch (error) {
    postpone(context, row, String(error));
  }
}

async function carryOut(context: ThreadContext, { kind, body }: OutboxRow): Promise<void> {
  if (kind === "webhook") return deliverWebhook(context, JSON.parse(body) as Delivery);
  const { workspaceId, threadId } = context;
  if (kind === "trace") return storeOwnRuns(context.env, workspaceId, JSON.parse(body) as unknown[]);
  await context.onTask(context.env, {
    workspaceId,
    threadId,
    ...(JSON.parse(body) as Pick<TaskEffect, "task_id" | "run_id" | "began" | "hook">),
  });
}

function postpone(context: ThreadContext, row: OutboxRow, reason: string): void {
  const seconds = RETRY_SECONDS[row.attempts];
  const log = { level: "warn", thread: context.threadId, effect: row.kind, attempt: row.attempts + 1, reason };
  console.warn(JSON.stringify({ ...log, gaveUp: seconds === undefined }));
  if (seconds === undefined) context.tables.outbox.remove(row.id);
  else context.tables.outbox.retry(row, Date.now() + seconds * 1000);
}

interface Delivery {
  run_id: string;
  url: string;
  /** The same at every attempt. Rows of earlier versions have none: each run has one webhook, so its id takes its place. */
  delivery?: string;
}

async function deliverWebhook(context: ThreadContext, { run_id, url, delivery = run_id }: Delivery): Promise<void> {
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
