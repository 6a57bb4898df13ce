/** Carries out the side effects that the transactions of a thread have queued, each at least once. */
import {
  type Delivery,
  PACKED_KINDS,
  packDelivery,
  sendOrDropDelivery,
  unpackDelivery,
} from "../../deliveries/send.ts";
import type { InterruptsOfDelivery } from "../types.ts";
import type { ThreadContext } from "../context.ts";
import { type RunRecord, takesSlots } from "../run.ts";
import { type EndedRun, flowControl } from "../../limits/flow/rpc.ts";
import { EFFECT_RETRIES, retryTime } from "../../lib/due-work.ts";
import { toProblem } from "../../lib/problem.ts";
import { storeOwnRuns, ownProject } from "../../traces/own-runs.ts";
import { auditResponse } from "../interrupts/responses.ts";
import type { OutboxRow } from "../store/outbox.ts";
import { sendReports, queueReports } from "./spending.ts";
import { logError } from "../../lib/log.ts";
import type { RootFacts, TracedRunFacts, TraceEnd, Tracer } from "../../runtime/tracer.ts";
import { derivedUsage } from "../../limits/prices/usage.ts";
import { queueTaskEffects } from "./tasks.ts";
import { type QueuedWebhook, queueWebhook, webhookDelivery, type WebhookInterrupts } from "./webhook.ts";

// What other folders do when a task changes.

/**
 * What has happened to a task: a run of it ended or began, it was cancelled, or a hook was set on it while it rested.
 * `hook` is the id of the hook, if any.
 */
export interface TaskEffect {
  workspaceId: string;
  threadId: string;
  task_id: string;
  run_id: string;
  began?: boolean;
  hook?: string;
}

/**
 * What a change of a task leads to: with a hook, the call of its receiver, unless a later effect overtakes it. Called at
 * least once for each change.
 */
export type OnTask = (env: Env, effect: TaskEffect) => Promise<Delivery<InterruptsOfDelivery> | undefined>;

/** Kinds of effects that wait for each other: a receiver that hangs keeps neither traces nor other receivers' calls. */
const TRACES = ["trace"];
const SLOTS = ["slots"];
const LANES = [SLOTS, ["spent"], ["answered"], TRACES, ["webhook", "webhook-call"], ["task", "task-hook", "task-call"]];
type Lane = readonly string[];
/** Effects that are carried out together. Calls are carried out one at a time: each may have megabytes. */
const TOGETHER = 8;

export interface WebhookHooks {
  interruptsOf(run: RunRecord): Promise<WebhookInterrupts | undefined>;
  respond(asked: InterruptsOfDelivery, answer: string): Promise<void>;
}

export class Outbox {
  /** By lane: resolves when the side effects that are being carried out are done. */
  readonly #delivering: Map<Lane, Promise<void>>;
  /** What was carried out after the thread had been deleted. It has a row, which the next outbox removes. */
  readonly #delivered: Set<string>;
  /** What webhooks say about questions, and what becomes of an answer; set when the thread's runs are there. */
  webhookHooks: WebhookHooks | undefined;

  /**
   * `onTask`: what a change of a task leads to. `before`: the outbox of the thread that this object had until now. What it
   * is carrying out is not begun again.
   */
  constructor(
    private readonly context: ThreadContext,
    private readonly onTask: OnTask,
    before?: Outbox,
  ) {
    this.#delivering = before ? before.#delivering : new Map<Lane, Promise<void>>();
    this.#delivered = before ? before.#delivered : new Set<string>();
  }

  /**
   * Carries out what is due: each effect is removed when done, or put off. The effects of one lane follow each other, and
   * so do calls, because a run's end and the alarm start the same effects at the same time.
   */
  async deliver(): Promise<void> {
    await Promise.all(LANES.map((lane) => this.#inTurn(lane)));
  }

  /** Gives back the slots of runs that have ended: others wait for them. */
  async free(): Promise<void> {
    return this.#inTurn(SLOTS);
  }

  /** Whether no effect reads the thread, or this run of it, when it is carried out. */
  isSealed(runId?: string): boolean {
    return this.#unsealed(runId) === undefined;
  }

  /**
   * Makes the calls of all effects that read the thread, or this run of it, so that it can be deleted. More effects may come
   * while it waits.
   */
  async seal(runId?: string): Promise<void> {
    const { tables } = this.context;
    for (let row = this.#unsealed(runId); row; row = this.#unsealed(runId)) {
      const { id, kind } = row;
      const call = await this.#callOf(row);
      if (!tables.outbox.holds(row)) continue;
      if (call) tables.transaction(() => tables.outbox.replace(id, PACKED_KINDS[kind] as string, packDelivery(call)));
      else tables.outbox.remove(id);
    }
  }

  #unsealed(runId?: string): OutboxRow | undefined {
    const belongsToRun = ({ body }: OutboxRow) =>
      runId === undefined || (JSON.parse(body) as QueuedWebhook).run_id === runId;
    return this.context.tables.outbox.find(Object.keys(PACKED_KINDS), belongsToRun);
  }

  async #inTurn(lane: Lane): Promise<void> {
    const before = this.#delivering.get(lane) ?? Promise.resolve();
    const delivering = before.catch(() => undefined).then(() => this.#deliverDue(lane));
    this.#delivering.set(lane, delivering);
    return delivering;
  }

  async #deliverDue(lane: Lane): Promise<void> {
    const { eventLog, tables } = this.context;
    // The content is read from the log.
    await eventLog.settled();
    // Traces have no order, and each waits for company in its partition.
    const due = () => tables.outbox.due(Date.now(), lane, lane === TRACES ? TOGETHER : 1);
    for (let rows = due(); rows.length > 0; rows = due()) {
      await Promise.all(rows.map((row) => this.#deliverOne(row)));
      // The table is read again for pending rows, so finished rows must be deleted first.
      if ((tables.outbox.nextDue() ?? Infinity) <= Date.now()) eventLog.flush();
    }
  }

  async #deliverOne(row: OutboxRow): Promise<void> {
    const { outbox } = this.context.tables;
    try {
      if (row.kind === "trace") return await this.#storeTrace(row);
      if (row.kind === "slots") {
        await this.#freeSlots(row.body);
        return outbox.remove(row.id);
      }
      if (row.kind === "spent") {
        await sendReports(this.context, row.body);
        return outbox.remove(row.id);
      }
      if (row.kind === "answered") {
        await auditResponse(this.context, row.body);
        return outbox.remove(row.id);
      }
      const call = await this.#callOf(row);
      // What the call is made of may have been deleted in the meantime. Then the row has become a call.
      if (!outbox.holds(row)) return;
      if (call) await this.#send(call);
      outbox.remove(row.id);
    } catch (error) {
      this.#postpone(row, error);
    }
  }

  async #storeTrace({ id: given, body }: OutboxRow): Promise<void> {
    const { env, workspaceId, eventLog, tables } = this.context;
    if (!this.#delivered.delete(`trace ${given}`)) await storeOwnRuns(env, workspaceId, JSON.parse(body) as unknown[]);
    const id = tables.outbox.done(given);
    if (id === undefined) return;
    // A trace may be sent twice, so its row is removed with the next transaction: of another run, or of the alarm.
    if (this.context.gone) this.#delivered.add(`trace ${id}`);
    else eventLog.due(() => tables.outbox.remove(id));
  }

  async #freeSlots(body: string): Promise<void> {
    const { env, workspaceId } = this.context;
    const { run_id, created, tokens } = JSON.parse(body) as EndedRun;
    await flowControl(env, workspaceId).release(run_id, created, tokens);
  }

  async #send(call: Delivery<InterruptsOfDelivery>): Promise<void> {
    const { env, workspaceId } = this.context;
    const answer = this.#delivered.delete(call.delivery) ? undefined : await sendOrDropDelivery(env, workspaceId, call);
    if (this.context.gone) this.#delivered.add(call.delivery);
    else if (answer !== undefined && call.asked) await this.webhookHooks?.respond(call.asked, answer);
  }

  /** The call that the effect leads to. Undefined when it leads to none, or has been carried out. */
  async #callOf({ kind, body }: OutboxRow): Promise<Delivery<InterruptsOfDelivery> | undefined> {
    const { env, workspaceId, threadId } = this.context;
    if (kind === "webhook") {
      const delivery = JSON.parse(body) as QueuedWebhook;
      const run = this.context.run(delivery.run_id);
      return run && webhookDelivery(this.context, run, delivery, await this.webhookHooks?.interruptsOf(run));
    }
    if (kind !== "task" && kind !== "task-hook") return unpackDelivery<InterruptsOfDelivery>(body);
    const effect = JSON.parse(body) as Pick<TaskEffect, "task_id" | "run_id" | "began" | "hook">;
    return this.onTask(env, { workspaceId, threadId, ...effect });
  }

  #postpone(row: OutboxRow, error: unknown): void {
    const { tables, threadId } = this.context;
    // An effect is given up and logged after its last attempt. A trace waits until the trace platform takes it, also for longer than
    // a receiver is called. Slots are always given back.
    const last = EFFECT_RETRIES.length - 1;
    const isTrace = row.kind === "trace" && (row.attempts <= last || toProblem(error).status >= 500);
    const isKept = isTrace || ["slots", "spent", "answered"].includes(row.kind);
    const due = retryTime(EFFECT_RETRIES, isKept ? Math.min(row.attempts, last) : row.attempts, Date.now());
    const log = { level: "warn", thread: threadId, effect: row.kind, attempt: row.attempts + 1, reason: String(error) };
    console.warn(JSON.stringify({ ...log, gaveUp: due === undefined }));
    if (due === undefined) tables.outbox.remove(row.id);
    else tables.outbox.retry(row, due);
  }
}

// Side effects of a run's end, queued in the transaction that ends the run. The outbox carries them out.

/** Characters of trace runs in one row: even at three bytes each it stays under SQLite's 2 MB. */
const TRACE_ROW = 400_000;
/** Characters of a trace that the thread's own row holds at most: changes of the thread write that row again. */
const TRACE_IN_THREAD = 100_000;

/** Queues what a run's end brings about. Called inside the transaction that ends it, before that writes the thread's row. */
export function queueSideEffects(context: ThreadContext, run: RunRecord, tracer?: Tracer): void {
  const { webhook } = run.request;
  const end = tracer && buildTraceEnd(context, run);
  if (end) queueTrace(context, end, tracer);
  if (webhook) queueWebhook(context, run, webhook);
  // Also of a run that has not begun: its claim may be on its way.
  if (takesSlots(run)) queueSlots(context, run, tracer);
  queueReports(context, run);
  queueTaskEffects(context, run);
}

/** Queues the return of a run's slots, with the tokens that its trace counts. */
function queueSlots({ tables }: ThreadContext, { id, created }: RunRecord, tracer?: Tracer): void {
  const counts = tracer?.modelOutputs.map((outputs) => derivedUsage(outputs)?.total_tokens ?? 0) ?? [];
  const ended: EndedRun = { run_id: id, created, tokens: counts.reduce((sum, count) => sum + count, 0) };
  tables.outbox.add("slots", JSON.stringify(ended));
}

/**
 * Queues a run's trace, in rows that SQLite can hold. A statement that fails rolls back the run's end, and the next attempt
 * of the run queues the trace again.
 */
function queueTrace({ tables: { outbox }, threadId }: ThreadContext, end: TraceEnd, tracer: Tracer): void {
  const texts = buildTraceTexts(threadId, end, tracer);
  if (texts.length === 0) return;
  if (texts.reduce((sum, text) => sum + text.length, 0) <= TRACE_IN_THREAD)
    return outbox.keepTrace(`[${texts.join(",")}]`);
  let batch: string[] = [];
  let size = 0;
  const queue = () => outbox.add("trace", `[${batch.join(",")}]`);
  for (const text of texts) {
    if (batch.length > 0 && size + text.length > TRACE_ROW) {
      queue();
      [batch, size] = [[], 0];
    }
    batch.push(text);
    size += text.length;
  }
  queue();
}

/** The runs of the trace as JSON. An error of a value in them loses the trace, never the run. */
function buildTraceTexts(threadId: string, end: TraceEnd, tracer: Tracer): string[] {
  try {
    return tracer.finish(end);
  } catch (error) {
    logError(error, { thread: threadId, while: "writing its trace" });
    return [];
  }
}

/** What the trace says of the run; undefined where traces are off. */
function buildTraceEnd({ env }: ThreadContext, run: RunRecord): TraceEnd | undefined {
  const { langsmith_tracer: wanted } = run.request;
  const project = ownProject(env, wanted?.project_name);
  if (project === undefined) return undefined;
  const { error: failure } = run.outcome;
  const error = failure && `${failure.error}: ${failure.message}`;
  return { run: runFacts(run), root: rootFacts(run), project, error, referenceExampleId: wanted?.example_id };
}

function rootFacts({ id, request, due, outcome: { began = due } }: RunRecord): RootFacts {
  return { id, name: request.graph_id, inputs: request.input, began };
}

function runFacts({ status, due, outcome: { began = due, first_event, updated } }: RunRecord): TracedRunFacts {
  return {
    status,
    queued_ms: began - due,
    first_event_ms: first_event === undefined ? undefined : first_event - due,
    took_ms: updated - began,
  };
}
