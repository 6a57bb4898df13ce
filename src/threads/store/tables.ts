/**
 * The tables of one thread, in its Durable Object's SQLite, and every statement on them.
 * Cloudflare bills rows written, so the data of one flush share a row where possible.
 */
import { ResponseStore } from "./interrupts.ts";
import { OutboxStore } from "./outbox.ts";
import { PackStore } from "./packs.ts";
import { type StoredEnding, RunStore } from "./runs.ts";
import { Tombstones } from "./tombstones.ts";
import { type LongTextValue, TextVault } from "./long-text.ts";
import {
  EVENT_TEXTS,
  type EventsRow,
  SEGMENT_TEXTS,
  type SegmentRow,
  type WritesRow,
  type SqlRow,
  Statements,
} from "./statements.ts";

/** Rows that one statement reads. Rows of events may have some 400,000 characters each. */
const EVENT_ROWS = 4;

/** The tables that a copy of a thread includes, long texts (`blobs`) before the columns that refer to them. */
export const COPIED_TABLES = ["blobs", "packs", "heads", "writes", "segments"] as const;
export type CopiedTable = (typeof COPIED_TABLES)[number];
export type { SqlRow };

/** What the thread's own row holds beside the record. */
export interface HeldRecord {
  trace?: unknown[];
  ended?: StoredEnding;
}

export class Tables {
  readonly outbox: OutboxStore;
  readonly packs: PackStore;
  readonly runs: RunStore;
  readonly responses: ResponseStore;
  readonly tombstones: Tombstones;
  readonly #sql: Statements;

  constructor(
    private readonly storage: DurableObjectStorage,
    readonly vault: TextVault = new TextVault(""),
  ) {
    this.#sql = new Statements(storage, vault);
    this.packs = new PackStore(this.#sql);
    this.runs = new RunStore(this.#sql, () => (JSON.parse(this.thread() ?? "{}") as HeldRecord).ended);
    this.outbox = new OutboxStore(this.#sql, (work) => this.transaction(work));
    this.responses = new ResponseStore(this.#sql);
    this.tombstones = new Tombstones(this.#sql);
  }

  /** Rows written since the object woke: what the bench reports. */
  get rowsWritten(): number {
    return this.#sql.rowsWritten;
  }

  /** A newer version wrote the thread. */
  get isNewer(): boolean {
    return this.#sql.isNewer;
  }

  /** Does the work as a whole or, when it throws, not at all. */
  transaction<T>(work: () => T): T {
    try {
      return this.storage.transactionSync(work);
    } catch (error) {
      this.forget();
      throw error;
    }
  }

  /** The same for work that waits in between, on an object that nothing else writes. */
  async longTransaction<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await this.storage.transaction(work);
    } catch (error) {
      this.forget();
      throw error;
    }
  }

  /** Texts of the tables that the object reads when it wakes, as they are held: one of each. */
  heldTexts(): unknown[] {
    if (this.isNewer) return [];
    const first = ["record FROM thread", "request FROM runs", "body FROM outbox", "body FROM blobs"];
    return first.flatMap((what) => this.#sql.all(`SELECT ${what} LIMIT 1`)).flatMap((row) => Object.values(row));
  }

  thread(): string | undefined {
    const [row] = this.#sql.all<{ record: string }>("SELECT record FROM thread");
    return row && this.#sql.texts.load(row.record, "thread");
  }

  /** Writes the record (a JSON object), and with it the trace that is to be delivered and the end of the last run. */
  putThread(record: string): void {
    const whole = this.outbox.withTrace(this.runs.withEnding(record));
    const held = this.#sql.texts.store(whole, "thread");
    this.#sql.insert("thread", { only: 1, ...this.#sql.version, record: held }, "replace");
  }

  deleteRun(runId: string): void {
    if (!this.runs.remove(runId)) return;
    const held = this.thread();
    if (held === undefined) return;
    const { trace: _trace, ended: _ended, ...record } = JSON.parse(held) as HeldRecord;
    this.putThread(JSON.stringify(record));
  }

  lastSeq(): { seq: number; first: number; n: number } {
    const row = this.#sql.all<SegmentRow>(
      "SELECT first_seq, n, last_seq FROM segments ORDER BY first_seq DESC, n DESC LIMIT 1",
    )[0];
    return { seq: row?.last_seq ?? 0, first: row?.first_seq ?? 0, n: row?.n ?? 0 };
  }

  /** Whether a row has events around this number. */
  hasSeq(seq: number): boolean {
    return this.#sql.all("SELECT 1 FROM segments WHERE first_seq <= ?1 AND last_seq >= ?1 LIMIT 1", seq).length > 0;
  }

  /** Writes rows of events, and does the other writes of their flush. Packs of checkpoints share the rows. */
  flush(rows: SegmentRow[], due: (() => void)[]): void {
    this.transaction(() => {
      this.packs.gather(() => {
        for (const write of due) write();
      });
      for (const row of rows) this.#insertSegment(row);
      this.packs.writeRest();
    });
  }

  #insertSegment(row: SegmentRow): void {
    const { first_seq, n, last_seq } = row;
    const pack = this.packs.carriedBy(row);
    this.#sql.insert("segments", { first_seq, n, last_seq, ...this.#storeTexts(row, SEGMENT_TEXTS), ...pack });
  }

  /** What these columns of a row of segments hold. */
  #storeTexts<N extends "events" | "metas" | "chunks">(
    row: EventsRow & Record<N, string>,
    names: readonly N[],
  ): SqlRow {
    const held = (name: N) => this.#sql.texts.store(row[name], `segments.${name}`, row.first_seq, row.n);
    return Object.fromEntries(names.map((name) => [name, held(name)]));
  }

  /**
   * Rows with events after `seq`, in order. They are read a few at a time, because many together pass what an isolate
   * holds; stop when enough have come.
   */
  *eventsAfter(seq: number): Generator<EventsRow, void, void> {
    // Events of one row are contiguous: the one that holds seq + 1 starts at or before it.
    const [from] = this.#sql.all<{ at: number | null }>(
      "SELECT max(first_seq) at FROM segments WHERE first_seq <= ?",
      seq + 1,
    );
    let cursor = [from?.at ?? 0, -1] as [number, number];
    for (;;) {
      const rows = this.#sql.all<EventsRow>(
        `SELECT first_seq, n, last_seq, events, metas FROM segments
         WHERE (first_seq, n) > (?, ?) AND last_seq > ? ORDER BY first_seq, n LIMIT ${EVENT_ROWS}`,
        ...cursor,
        seq,
      );
      for (const row of rows) {
        const [events, metas] = EVENT_TEXTS.map((name) =>
          this.#sql.texts.load(row[name], `segments.${name}`, row.first_seq, row.n),
        ) as [string, string];
        yield { ...row, events, metas };
      }
      const last = rows.at(-1);
      if (!last || rows.length < EVENT_ROWS) return;
      cursor = [last.first_seq, last.n];
    }
  }

  setEvents(row: EventsRow): void {
    const { first_seq, n, last_seq } = row;
    this.#sql.update("segments", { first_seq, n }, { last_seq, ...this.#storeTexts(row, EVENT_TEXTS) });
  }

  /** The chunks kept in one segment's row: JSON, an array of arrays of items. */
  chunks(first: number, n: number): string | undefined {
    const sql = "SELECT chunks FROM segments WHERE first_seq = ? AND n = ?";
    const [row] = this.#sql.all<{ chunks: string }>(sql, first, n);
    return row && this.#sql.texts.load(row.chunks, "segments.chunks", first, n);
  }

  head(ns: string): string | undefined {
    return this.#sql.all<{ id: string }>("SELECT id FROM heads WHERE ns = ?", ns)[0]?.id;
  }

  /** Namespaces with a checkpoint after `id`, and those that name no task. Ids are in the order of time. */
  headsAfter(id: string): string[] {
    const sql = "SELECT ns FROM heads WHERE id > ? OR instr(ns, ':') = 0";
    return this.#sql.all<{ ns: string }>(sql, id).map(({ ns }) => ns);
  }

  /** The namespaces of the graphs nested in a task. */
  readHeads(taskId: string): string[] {
    const sql = "SELECT ns FROM heads WHERE instr(ns, ':' || ?) > 0";
    return this.#sql.all<{ ns: string }>(sql, taskId).map(({ ns }) => ns);
  }

  setHead(ns: string, id: string): void {
    this.#sql.insert("heads", { ns, id }, "replace");
  }

  deleteHead(ns: string): void {
    this.#sql.remove("heads", { ns });
  }

  /** `n`: the row's place among those of the checkpoint; the last one when another row has it. */
  insertWrites(ns: string, checkpointId: string, body: string, n = 0): void {
    const rows = this.#writePlaces(ns, checkpointId);
    const place = rows.includes(n) ? Math.max(...rows) + 1 : n;
    const held = this.#sql.texts.store(body, "writes", ns, checkpointId);
    this.#sql.insert("writes", { ns, checkpoint_id: checkpointId, n: place, body: held });
  }

  /** The places of the rows of writes under a checkpoint. */
  #writePlaces(ns: string, checkpointId: string): number[] {
    const sql = "SELECT n FROM writes WHERE ns = ? AND checkpoint_id = ?";
    return this.#sql.all<{ n: number }>(sql, ns, checkpointId).map(({ n }) => n);
  }

  /** The rows under one checkpoint. */
  writesUnder(ns: string, checkpointId: string): { n: number; body: string }[] {
    const sql = "SELECT * FROM writes WHERE ns = ? AND checkpoint_id = ? ORDER BY n";
    return this.#sql.all<WritesRow>(sql, ns, checkpointId).map((row) => this.#written(row));
  }

  /** The rows that may hold writes of a run: those that name it, and those whose text the statement cannot read. */
  readWrites(runId: string): WritesRow[] {
    const sql = "SELECT * FROM writes WHERE instr(body, ?) > 0 OR substr(body, 1, 1) IN (char(1), char(2))";
    return this.#sql.all<WritesRow>(sql, runId).map((row) => this.#written(row));
  }

  #written(row: WritesRow): WritesRow {
    return { ...row, body: this.#sql.texts.load(row.body, "writes", row.ns, row.checkpoint_id) };
  }

  setWrites(ns: string, checkpointId: string, n: number, body: string): void {
    const key = { ns, checkpoint_id: checkpointId, n };
    if (body === "[]") this.#sql.remove("writes", key);
    else this.#sql.update("writes", key, { body: this.#sql.texts.store(body, "writes", ns, checkpointId) });
  }

  deleteWrites(ns: string, checkpointId: string): void {
    this.#sql.remove("writes", { ns, checkpoint_id: checkpointId });
  }

  /** Keeps a text of any length under its content's hash. */
  putBlob(hash: string, text: string): void {
    this.#sql.texts.put(hash, text);
  }

  blob(hash: string): string {
    return this.#sql.texts.get(hash);
  }

  /** Writes a row as the tables hold it, unless there is one with its key. */
  insertHeld(table: CopiedTable, row: SqlRow): void {
    this.#sql.insert(table, row, "keep");
  }

  /** Rows as the tables hold them, for a copy. */
  heldRows(statement: string, ...params: LongTextValue[]): SqlRow[] {
    return this.#sql.all(statement, ...params);
  }

  writesFigures(): { count: number; bytes: number } {
    const rows = this.#sql.all<{ count: number; bytes: number | null }>(
      "SELECT count(*) count, sum(length(body)) bytes FROM writes",
    );
    return { count: rows[0]?.count ?? 0, bytes: rows[0]?.bytes ?? 0 };
  }

  task(taskId: string): string | undefined {
    const [row] = this.#sql.all<{ body: string }>("SELECT body FROM tasks WHERE task_id = ?", taskId);
    return row && this.#sql.texts.load(row.body, "tasks", taskId);
  }

  hasTasks(): boolean {
    return this.#sql.all("SELECT 1 FROM tasks LIMIT 1").length > 0;
  }

  putTask(taskId: string, body: string): void {
    this.#sql.insert("tasks", { task_id: taskId, body: this.#sql.texts.store(body, "tasks", taskId) }, "replace");
  }

  /** Deletes the thread as a whole, but not what its outbox is still to carry out. */
  leaveOutbox(): void {
    const onceLeft = this.transaction(() => {
      this.#sql.dropAllBut(["outbox", "blobs"]);
      return this.outbox.leave();
    });
    onceLeft();
  }

  /** All tables have been deleted, or a transaction was rolled back: cached facts about them may no longer be valid. */
  forget(): void {
    this.#sql.forget();
    this.packs.forget();
    this.runs.forget();
    this.outbox.forget();
    this.tombstones.forget();
  }

  /**
   * The thread is deleted: nothing is found and nothing is written, because the storage may belong to another thread.
   */
  close(): void {
    this.#sql.close();
    this.outbox.forget();
  }
}
