/** What one thread is made of, put together once when its object wakes. */
import { remoteProblem } from "../lib/problem.ts";
import { KEPT_MS, keepDeletedIds, readDeletedIds } from "../access/idempotency/store.ts";
import { database } from "../db/client.ts";
import { isDerivedUuid } from "../lib/uuid.ts";
import type { BaseStore } from "@langchain/langgraph-checkpoint";
import { logError } from "../lib/log.ts";
import { Checkpoints } from "./checkpoints/checkpoints.ts";
import { INDEX_DELAY_MS } from "./limits.ts";
import { storeFor } from "../agents/memory/langgraph.ts";
import { EventLog } from "./log/event-log.ts";
import { indexRow, readRecord, type ThreadRecord } from "./record.ts";
import { parseObjectName } from "./types.ts";
import { toRunRecord, type RunRecord } from "./run.ts";
import { putThread, removeThread } from "./search/store.ts";
import { Tables } from "./store/tables.ts";
import { ValueStore } from "./log/values.ts";

/** The runs of a thread that have not ended; `busy`: one of them is in flight. */
interface Runs {
  busy: boolean;
  open: readonly unknown[];
}

export class ThreadContext {
  readonly workspaceId: string;
  readonly threadId: string;
  readonly eventLog: EventLog;
  readonly values: ValueStore;
  readonly checkpoints: Checkpoints;
  /** Undefined when the thread does not exist. */
  record: ThreadRecord | undefined;
  /** The index row is, or may be, behind the record. */
  stale = false;
  /** Destroyed: what is in memory must not be used again. */
  gone = false;
  /** When the alarm will come, as far as this instance has set it. */
  alarmAt: number | undefined;
  #deletedIds: Promise<Set<string>> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #revision = 0;
  #projecting: Promise<void> = Promise.resolve();
  /** Writes of the index row that have not ended. */
  #writes = 0;

  constructor(
    readonly ctx: DurableObjectState,
    readonly env: Env,
    readonly tables: Tables = new Tables(ctx.storage),
    record: ThreadRecord | undefined = readRecord(tables),
  ) {
    const { workspaceId, threadId } = parseObjectName(ctx.id);
    this.workspaceId = workspaceId;
    this.threadId = threadId;
    this.eventLog = new EventLog(
      this.tables,
      () => ctx.storage.sync(),
      () => ctx.abort("The thread's storage failed. The object starts again from what is stored."),
    );
    this.values = new ValueStore(this.tables, this.eventLog);
    this.checkpoints = new Checkpoints(this.tables, this.eventLog, this.values);
    this.record = record;
    // After a crash the row may be behind, and the next alarm writes it. That alarm may be of any age: an object whose
    // watchdog did not come in time wakes up hours later, for its compaction.
    this.stale = this.record !== undefined;
  }

  run(runId: string): RunRecord | undefined {
    const row = this.tables.runs.get(runId);
    return row && toRunRecord(row);
  }

  /** Keeps the ids that requests may derive again after the thread is deleted. */
  async keepIds(): Promise<void> {
    const { env, workspaceId, threadId, tables, record } = this;
    const since = Date.now() - KEPT_MS;
    const made = record && record.created > since ? [threadId, record.made_by?.id ?? threadId] : [];
    const known = [...made, ...tables.runs.idsSince(since), ...tables.tombstones.ids()];
    const ids = [...new Set(known)].filter(isDerivedUuid);
    if (ids.length > 0) await keepDeletedIds(database(env.DB), workspaceId, threadId, ids);
  }

  /** Whether the id is of what was deleted with an earlier thread of this id. */
  async isDeleted(id: string): Promise<boolean> {
    const { env, workspaceId, threadId, record } = this;
    // The ids are kept for less than the age of an older thread.
    if (!isDerivedUuid(id) || (record && record.created < Date.now() - KEPT_MS)) return false;
    this.#deletedIds ??= readDeletedIds(database(env.DB), workspaceId, threadId);
    try {
      return (await this.#deletedIds).has(id);
    } catch (error) {
      this.#deletedIds = undefined;
      throw error;
    }
  }

  /** 404 when there is no such run. */
  existingRun(runId: string): RunRecord {
    const run = this.run(runId);
    if (!run) throw remoteProblem(404, "Run not found.");
    return run;
  }

  /** Writes the record, then keeps it in memory. */
  saveRecord(record: ThreadRecord): void {
    this.writeRecord(record);
    this.keepRecord(record);
  }

  /** Writes the record as a part of a transaction. `keepRecord` follows the transaction. */
  writeRecord(record: ThreadRecord): void {
    this.tables.putThread(JSON.stringify(record));
  }

  /** Keeps the record in memory, once it is written. */
  keepRecord(record: ThreadRecord): void {
    if (!this.gone) this.record = record;
  }

  /** The long-term memory that graphs of this workspace share. */
  memory(): BaseStore {
    return storeFor(this.env, this.workspaceId);
  }

  /** Writes the index row in a moment, unless something writes it before: a short run is never listed as busy. */
  projectSoon(runs: Runs): void {
    this.stale = true;
    this.#timer ??= setTimeout(() => void this.project(runs), INDEX_DELAY_MS);
  }

  /** Writes the index row; calls are carried out in order. A failure is left to the alarm. */
  async project({ busy, open }: Runs): Promise<void> {
    const { record } = this;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!record || this.gone || record.temporary) return;
    this.stale = true;
    // Grows even across restarts, where a count of events would not (a patch adds none).
    this.#revision = Math.max(this.#revision + 1, Date.now());
    const row = indexRow(record, { busy, open: open.length > 0 }, this.values, this.#revision);
    this.#writes += 1;
    this.#projecting = this.#projecting.then(async () => {
      try {
        await putThread(this.env, this.workspaceId, { shard: record.shard, row, ring: this.tables.vault.ring });
        if (row.revision === this.#revision) this.stale = false;
      } catch (error) {
        logError(error, { thread: this.threadId, while: "writing its index row" });
      } finally {
        this.#writes -= 1;
      }
    });
    return this.#projecting;
  }

  /** The index row is being written, or will be in a moment. */
  get isProjecting(): boolean {
    return this.#timer !== undefined || this.#writes > 0;
  }

  /** Resolves when the writes of the index row begun so far are done. */
  async projected(): Promise<void> {
    return this.#projecting;
  }

  /**
   * Deletes the thread immediately. What the outbox is still to carry out stays in the storage, which is otherwise empty
   * (see `clear`).
   */
  destroy(): void {
    if (this.tables.outbox.outlives) this.tables.leaveOutbox();
    else this.#deleteAll();
    this.close();
  }

  /** Work that still uses these parts finds no data and writes none from here on. */
  close(): void {
    this.record = undefined;
    this.gone = true;
    this.tables.close();
    this.eventLog.recent.forget();
    this.eventLog.end();
  }

  /** Empties the storage of an object that has no thread, once all that its last thread has left is carried out. */
  clear(): void {
    const { gone, tables } = this;
    if (gone || tables.thread() !== undefined || tables.outbox.nextDue() !== undefined) return;
    this.#deleteAll();
    tables.forget();
  }

  #deleteAll(): void {
    const { storage } = this.ctx;
    // They take effect now; what waits for them is only the answer.
    this.ctx.waitUntil(Promise.all([storage.deleteAlarm(), storage.deleteAll()]));
  }

  /** Takes the thread off the index, after what is being written there. */
  async unlist(): Promise<void> {
    await this.#projecting;
    await removeThread(this.env, this.workspaceId, this.threadId);
  }
}
