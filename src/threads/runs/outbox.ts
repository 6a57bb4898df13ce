/** Carries out the side effects that the transactions of a thread have queued, each at least once. */
import { type EndedRun, flowControl } from "../../limits/flow/rpc.ts";
import { toProblem } from "../../lib/problem.ts";
import { storeOwnRuns } from "../../traces/own-runs.ts";
import { auditAnswer } from "../interrupts/responses.ts";
import type { AskedByCall } from "../answering.ts";
import type { ThreadContext } from "../context.ts";
import type { StoredRun } from "../run.ts";
import type { OutboxRow } from "../store/outbox.ts";
import { type Call, CALL_OF, packCall, sendOrDrop, unpackCall } from "../../deliveries/send.ts";
import { sendReports } from "../tasks/budget.ts";
import type { OnTask, TaskEffect } from "../tasks/effect.ts";
import { type Delivery, type Questions, webhookCall } from "../tasks/webhook.ts";

/**
 * Seconds before the next attempt, by how many have failed. After the last one the effect is given up and logged. A trace is not
 * given up.
 */
const RETRY_SECONDS = [1, 5, 30, 120, 600, 3_600, 3_600, 3_600];
/** Kinds of effects that wait for each other: a receiver that hangs keeps neither traces nor other receivers' calls. */
const TRACES = ["trace"];
const SLOTS = ["slots"];
const LANES = [SLOTS, ["spent"], ["answered"], TRACES, ["webhook", "webhook-call"], ["task", "task-hook", "task-call"]];
type Lane = readonly string[];
/** Effects that are carried out together. Calls are carried out one at a time: each may have megabytes. */
const TOGETHER = 8;

export interface OnQuestions {
  askedBy(run: StoredRun): Promise<Questions | undefined>;
  take(asked: AskedByCall, answer: string): Promise<void>;
}

export class Outbox {
  /** By lane: resolves when the side effects that are being carried out are done. */
  readonly #delivering: Map<Lane, Promise<void>>;
  /** What was carried out after the thread had been deleted. It has a row, which the next outbox removes. */
  readonly #delivered: Set<string>;
  /** What webhooks say about questions, and what becomes of an answer; set when the thread's runs are there. */
  questions: OnQuestions | undefined;

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
      if (call) tables.transaction(() => tables.outbox.replace(id, CALL_OF[kind] as string, packCall(call)));
      else tables.outbox.remove(id);
    }
  }

  #unsealed(runId?: string): OutboxRow | undefined {
    const belongsToRun = ({ body }: OutboxRow) =>
      runId === undefined || (JSON.parse(body) as Delivery).run_id === runId;
    return this.context.tables.outbox.find(Object.keys(CALL_OF), belongsToRun);
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
        await auditAnswer(this.context, row.body);
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

  async #send(call: Call): Promise<void> {
    const { env, workspaceId } = this.context;
    const answer = this.#delivered.delete(call.delivery) ? undefined : await sendOrDrop(env, workspaceId, call);
    if (this.context.gone) this.#delivered.add(call.delivery);
    else if (answer !== undefined && call.asked) await this.questions?.take(call.asked, answer);
  }

  /** The call that the effect leads to. Undefined when it leads to none, or has been carried out. */
  async #callOf({ kind, body }: OutboxRow): Promise<Call | undefined> {
    const { env, workspaceId, threadId } = this.context;
    if (kind === "webhook") {
      const delivery = JSON.parse(body) as Delivery;
      const run = this.context.run(delivery.run_id);
      return run && webhookCall(this.context, run, delivery, await this.questions?.askedBy(run));
    }
    if (kind !== "task" && kind !== "task-hook") return unpackCall(body);
    const effect = JSON.parse(body) as Pick<TaskEffect, "task_id" | "run_id" | "began" | "hook">;
    return this.onTask(env, { workspaceId, threadId, ...effect });
  }

  #postpone(row: OutboxRow, error: unknown): void {
    const { tables, threadId } = this.context;
    // A trace waits until the trace platform takes it, also for longer than a receiver is called. Slots are always given back.
    const isTrace = row.kind === "trace" && (row.attempts < RETRY_SECONDS.length || toProblem(error).status >= 500);
    const isKept = isTrace || ["slots", "spent", "answered"].includes(row.kind);
    const seconds = RETRY_SECONDS[row.attempts] ?? (isKept ? RETRY_SECONDS.at(-1) : undefined);
    const log = { level: "warn", thread: threadId, effect: row.kind, attempt: row.attempts + 1, reason: String(error) };
    console.warn(JSON.stringify({ ...log, gaveUp: seconds === undefined }));
    if (seconds === undefined) tables.outbox.remove(row.id);
    else tables.outbox.retry(row, Date.now() + seconds * 1000);
  }
}
