/** Carries out the side effects that the transactions of a thread have queued, each at least once. */
import { storeOwnRuns } from "../../traces/self.ts";
import type { ThreadContext } from "../context.ts";
import type { OutboxRow } from "../storage/outbox-store.ts";
import type { OnTask, TaskEffect } from "./effect.ts";
import { type Delivery, deliverWebhook } from "./webhook.ts";

/** Seconds before the next attempt, by how many have failed; after the last one the effect is given up and logged. */
const RETRY_SECONDS = [1, 5, 30, 120, 600, 3_600, 3_600, 3_600];
/** Kinds of effects that wait for each other: a receiver that hangs keeps neither traces nor other receivers' calls. */
const TRACES = ["trace"];
const LANES = [TRACES, ["webhook"], ["task", "task-hook"]];
type Lane = readonly string[];

export class Outbox {
  /** By lane: resolves when the side effects that are being carried out are done. */
  readonly #delivering = new Map<Lane, Promise<void>>();

  /** `onTask`: what a change of a task leads to. */
  constructor(
    private readonly context: ThreadContext,
    private readonly onTask: OnTask,
  ) {}

  /**
   * Carries out what is due: each effect is removed when done, or put off. The effects of one lane follow each other, and
   * so do calls, because a run's end and the alarm start the same effects at the same time.
   */
  async deliver(): Promise<void> {
    await Promise.all(LANES.map((lane) => this.#inTurn(lane)));
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
    const due = () => tables.outbox.due(Date.now(), lane);
    for (let rows = due(); rows.length > 0; rows = due()) {
      // Traces have no order, and each waits for company in its partition.
      if (lane === TRACES) await Promise.all(rows.map((row) => this.#deliverOne(row)));
      else for (const row of rows) await this.#deliverOne(row);
      // The table is read again for pending rows, so finished rows must be deleted first.
      if ((tables.outbox.nextDue() ?? Infinity) <= Date.now()) eventLog.flush();
    }
  }

  async #deliverOne(row: OutboxRow): Promise<void> {
    const { eventLog, tables } = this.context;
    try {
      await this.#carryOut(row);
      if (row.kind !== "trace") return tables.outbox.remove(row.id);
      // A trace may be sent twice, so its row is removed with the next transaction: of another run, or of the alarm.
      const id = tables.outbox.done(row.id);
      if (id !== undefined) eventLog.due(() => tables.outbox.remove(id));
    } catch (error) {
      this.#postpone(row, String(error));
    }
  }

  async #carryOut({ kind, body }: OutboxRow): Promise<void> {
    if (kind === "webhook") return deliverWebhook(this.context, JSON.parse(body) as Delivery);
    const { env, workspaceId, threadId } = this.context;
    if (kind === "trace") return storeOwnRuns(env, workspaceId, JSON.parse(body) as unknown[]);
    await this.onTask(env, {
      workspaceId,
      threadId,
      ...(JSON.parse(body) as Pick<TaskEffect, "task_id" | "run_id" | "began" | "hook">),
    });
  }

  #postpone(row: OutboxRow, reason: string): void {
    const { tables, threadId } = this.context;
    const seconds = RETRY_SECONDS[row.attempts];
    const log = { level: "warn", thread: threadId, effect: row.kind, attempt: row.attempts + 1, reason };
    console.warn(JSON.stringify({ ...log, gaveUp: seconds === undefined }));
    if (seconds === undefined) tables.outbox.remove(row.id);
    else tables.outbox.retry(row, Date.now() + seconds * 1000);
  }
}
