/**
 * The tables of one thread, in its Durable Object's SQLite, and every statement on them.
 * Cloudflare bills rows written, so the data of one flush share a row where possible.
 */
import { AnswerStore } from "./answer-store.ts";
import { OutboxStore } from "./outbox-store.ts";
import type { Value } from "./long-text.ts";
import {
  EVENT_TEXTS,
  type EventsRow,
  type PackRow,
  type RunRow,
  SEGMENT_TEXTS,
  type SegmentRow,
  type WritesRow,
  unwrapped,
  wrapped,
} from "./rows.ts";
import { type Row, Statements } from "./statements.ts";
import { Vault } from "./vault.ts";

/** Rows that one statement reads. Packs and rows of events may have some 400,000 characters each. */
const PACKS = 8;
const EVENT_ROWS = 4;
const RUN_ROWS = 20;

/** The tables that a copy of a thread includes, long texts (`blobs`) before the columns that refer to them. */
export const COPIED_TABLES = ["blobs", "packs", "heads", "writes", "segments"] as const;
export type CopiedTable = (typeof COPIED_TABLES)[number];
export type { Row };

export class Tables {
  readonly outbox: OutboxStore;
  readonly answers: AnswerStore;
  readonly #sql: Statements;

  constructor(
    private readonly storage: DurableObjectStorage,
    readonly vault: Vault = new Vault(""),
  ) {
    this.#sql = new Statements(storage.sql, vault);
    this.outbox = new OutboxStore(this.#sql, (work) => this.transaction(work));
    this.answers = new AnswerStore(this.#sql);
  }

  /** Rows written since the object woke: what the bench reports. */
  get rowsWritten(): number {
    return this.#sql.rowsWritten;
  }

  /** The format of what the thread stores (db/format.ts). */
  get format(): number {
    return this.#sql.format;
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
    const first = ["record FROM thread", "request FROM runs", "body FROM outbox", "body FROM blobs"];
    return first
      .flatMap((what) => this.#sql.all(`SELECT ${what} LIMIT 1`))
      .flatMap((row) => Object.values(row).map(unwrapped));
  }

  thread(): string | undefined {
    const [row] = this.#sql.all<{ record: string }>("SELECT record FROM thread");
    return row && this.#sql.texts.load(unwrapped(row.record), "thread");
  }

  /** Writes the record (a JSON object), and with it the trace that is to be delivered. */
  putThread(record: string): void {
    const held = wrapped(this.#sql.texts.store(this.outbox.withTrace(record), "thread"));
    this.#sql.insert("thread", { only: 1, record: held }, "replace");
  }

  run(runId: string): RunRow | undefined {
    return this.#runs("SELECT * FROM runs WHERE run_id = ?", runId)[0];
  }

  insertRun(row: RunRow): void {
    const request = this.#sql.texts.store(row.request, "runs.request", row.run_id);
    this.#sql.insert("runs", { ...row, request, outcome: this.#outcome(row.run_id, row.outcome) });
  }

  setRun(runId: string, status: string, outcome: string | null): void {
    this.#sql.update("runs", { run_id: runId }, { status, outcome: this.#outcome(runId, outcome) });
  }

  /** Newest first, read a few at a time: a request may have megabytes. */
  *runs(limit: number, offset: number, status?: string): Generator<RunRow, void, void> {
    const where = status === undefined ? "" : "WHERE status = ?";
    const sql = `SELECT * FROM runs ${where} ORDER BY created DESC, run_id DESC LIMIT ? OFFSET ?`;
    const filter = status === undefined ? [] : [status];
    for (let read = 0; read < limit; read += RUN_ROWS) {
      const most = Math.min(RUN_ROWS, limit - read);
      const rows = this.#runs(sql, ...filter, most, offset + read);
      yield* rows;
      if (rows.length < most) return;
    }
  }

  /** Pending and running, in the order they will run. */
  openRuns(): RunRow[] {
    return this.#runs("SELECT * FROM runs WHERE status IN ('pending', 'running') ORDER BY created, run_id");
  }

  #runs(statement: string, ...params: Value[]): RunRow[] {
    const { texts } = this.#sql;
    return this.#sql.all<RunRow>(statement, ...params).map((row) => {
      const request = texts.load(row.request, "runs.request", row.run_id);
      return { ...row, request, outcome: row.outcome && texts.load(row.outcome, "runs.outcome", row.run_id) };
    });
  }

  #outcome(runId: string, outcome: string | null): string | null {
    return outcome && this.#sql.texts.store(outcome, "runs.outcome", runId);
  }

  deleteRun(runId: string): void {
    this.#sql.remove("runs", { run_id: runId });
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

  insertSegment(row: SegmentRow): void {
    const { first_seq, n, last_seq } = row;
    this.#sql.insert("segments", { first_seq, n, last_seq, ...this.#storeTexts(row, SEGMENT_TEXTS) });
  }

  /** What these columns of a row of segments hold. */
  #storeTexts<N extends "events" | "metas" | "chunks">(row: EventsRow & Record<N, string>, names: readonly N[]): Row {
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

  insertPack(lastId: string, firstId: string, entries: string): void {
    const sql = "SELECT max(n) + 1 AS n FROM packs WHERE last_id = ?";
    const n = this.#sql.all<{ n: number | null }>(sql, lastId)[0]?.n ?? 0;
    const held = this.#sql.texts.store(entries, "packs", lastId);
    this.#sql.insert("packs", { last_id: lastId, n, first_id: firstId, entries: held });
  }

  /** Packs newest first, from those that may hold checkpoints before `before`. */
  *packs(before?: string): Generator<PackRow> {
    let cursor: { last_id: string; n: number } | undefined;
    for (;;) {
      const rows: PackRow[] = this.#sql.all(
        `SELECT last_id, n, entries FROM packs WHERE (?1 IS NULL OR first_id < ?1)
         AND (?2 IS NULL OR (last_id, n) < (?2, ?3)) ORDER BY last_id DESC, n DESC LIMIT ${PACKS}`,
        before ?? null,
        cursor?.last_id ?? null,
        cursor?.n ?? null,
      );
      yield* rows.map((row) => this.#pack(row));
      if (rows.length < PACKS) return;
      cursor = rows.at(-1);
    }
  }

  /** Packs that may hold checkpoint `id`. */
  packsAt(id: string): PackRow[] {
    const sql = "SELECT last_id, n, entries FROM packs WHERE last_id >= ?1 AND first_id <= ?1 ORDER BY last_id LIMIT 8";
    return this.#sql.all<PackRow>(sql, id).map((row) => this.#pack(row));
  }

  #pack(row: PackRow): PackRow {
    return { ...row, entries: this.#sql.texts.load(row.entries, "packs", row.last_id) };
  }

  setPack(lastId: string, n: number, entries: string): void {
    const key = { last_id: lastId, n };
    if (entries === "[]") this.#sql.remove("packs", key);
    else this.#sql.update("packs", key, { entries: this.#sql.texts.store(entries, "packs", lastId) });
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
  headsOf(taskId: string): string[] {
    const sql = "SELECT ns FROM heads WHERE instr(ns, ':' || ?) > 0";
    return this.#sql.all<{ ns: string }>(sql, taskId).map(({ ns }) => ns);
  }

  setHead(ns: string, id: string): void {
    this.#sql.insert("heads", { ns, id }, "replace");
  }

  deleteHead(ns: string): void {
    this.#sql.remove("heads", { ns });
  }

  insertWrites(ns: string, checkpointId: string, body: string): void {
    const sql = "SELECT max(n) + 1 AS n FROM writes WHERE ns = ? AND checkpoint_id = ?";
    const n = this.#sql.all<{ n: number | null }>(sql, ns, checkpointId)[0]?.n ?? 0;
    const held = this.#sql.texts.store(body, "writes", ns, checkpointId);
    this.#sql.insert("writes", { ns, checkpoint_id: checkpointId, n, body: held });
  }

  writes(ns: string, checkpointId: string): string[] {
    return this.writesUnder(ns, checkpointId).map(({ body }) => body);
  }

  /** The rows under one checkpoint. */
  writesUnder(ns: string, checkpointId: string): { n: number; body: string }[] {
    const sql = "SELECT * FROM writes WHERE ns = ? AND checkpoint_id = ? ORDER BY n";
    return this.#sql.all<WritesRow>(sql, ns, checkpointId).map((row) => this.#written(row));
  }

  /** The rows that may hold writes of a run: those that name it, and those whose text the statement cannot read. */
  writesOf(runId: string): WritesRow[] {
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
  insertHeld(table: CopiedTable, row: Row): void {
    this.#sql.insert(table, row, "keep");
  }

  /** Rows as the tables hold them, for a copy. */
  heldRows(statement: string, ...params: Value[]): Row[] {
    return this.#sql.all(statement, ...params);
  }

  /** The entries of a copied pack. */
  entriesIn({ entries = null, last_id = null }: Row): string {
    return this.#sql.texts.load(String(entries), "packs", last_id);
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
    this.outbox.forget();
  }

  /**
   * The thread is deleted: nothing is found and nothing is written, because the storage may belong to another thread.
   */
  close(): void {
    this.#sql.close();
    this.outbox.forget();
  }
}
