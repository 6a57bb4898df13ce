/** The outbox's rows: side effects that are still to be carried out. */
import { isKeyDestroyed } from "../../access/encryption/ring.ts";
import { withMember, type Statements } from "./statements.ts";

export interface OutboxRow {
  /** Below zero for the trace that the thread's own row holds. */
  id: number;
  kind: string;
  body: string;
  attempts: number;
  due: number;
}

/** When an effect is due; with the row itself while it is on its way out for the first time. */
interface Due {
  due: number;
  kind: string;
  row?: OutboxRow;
}

export class OutboxStore {
  /** The due times of all effects, by id, so that a check costs no statement. Read on first use. */
  #known: Map<number, Due> | undefined;
  /** The trace of the last run, until it is delivered. */
  #trace: OutboxRow | undefined;
  #traces = 0;
  /** Rows of the outbox by the ids that their traces had in the thread's row. */
  readonly #moved = new Map<number, number>();
  /** The thread's row, as stored, holds a trace. */
  #stored = false;
  /** The highest id so far. None is given twice: the call of an effect may end after another one has removed its row. */
  #last = 0;

  /** `transaction`: does the work as a whole or not at all. */
  constructor(
    private readonly statements: Statements,
    private readonly transaction: (work: () => void) => void,
  ) {}

  /** Adds an effect that is due at once. Returns its id, or undefined when the thread is deleted. */
  add(kind: string, body: string): number | undefined {
    const due = Date.now();
    const id = this.#insert({ kind, body, attempts: 0, due });
    if (id !== undefined) this.#dues().set(id, { due, kind, row: { id, kind, body, attempts: 0, due } });
    return id;
  }

  /**
   * Keeps a run's trace (a JSON array) in the thread's row, which the end of the run writes in the same transaction after
   * this call. A row of the outbox would be two rows more to write, and a table more for each new thread. The trace of the
   * run before moves to the outbox if it is not delivered yet.
   */
  keepTrace(body: string): void {
    const before = this.#trace;
    if (before) {
      this.done(before.id);
      const id = this.add(before.kind, before.body);
      if (id !== undefined) this.#moved.set(before.id, id);
    }
    this.#setTrace(body);
  }

  /** The thread's row (a JSON object) with the trace that is not delivered yet. */
  withTrace(record: string): string {
    this.#stored = this.#trace !== undefined;
    return this.#trace ? withMember(record, "trace", this.#trace.body) : record;
  }

  /** The trace that the thread's row holds when its object wakes. It may have been delivered. */
  foundTrace(body: string): void {
    this.#stored = true;
    this.#setTrace(body);
  }

  /** The thread's row holds a trace that has been delivered: the next write of that row removes it. */
  get spent(): boolean {
    return this.#stored && this.#trace === undefined;
  }

  /** At most `most` effects of these kinds that are due, in the order in which they came. */
  due(now: number, kinds: readonly string[], most: number): OutboxRow[] {
    const due = [...this.#dues()].filter(([, one]) => one.due <= now && kinds.includes(one.kind));
    return due.slice(0, most).flatMap(([id]) => this.#row(id) ?? []);
  }

  /** The first effect of these kinds for which `test` holds. */
  find(kinds: readonly string[], test: (row: OutboxRow) => boolean): OutboxRow | undefined {
    for (const [id, { kind }] of this.#dues()) {
      const row = kinds.includes(kind) ? this.#row(id) : undefined;
      if (row && test(row)) return row;
    }
    return undefined;
  }

  /** Whether the effect is still to be carried out, and is the same as when its row was read. */
  holds({ id, kind }: OutboxRow): boolean {
    return this.#dues().get(id)?.kind === kind;
  }

  /** Some effect must be carried out even when the thread is deleted. A task of a deleted thread is in no list. */
  get outlives(): boolean {
    return [...this.#dues().values()].some(({ kind }) => kind !== "task");
  }

  /** When the next effect is due; undefined when nothing is left. */
  nextDue(): number | undefined {
    let next: number | undefined;
    for (const { due } of this.#dues().values()) if (next === undefined || due < next) next = due;
    return next;
  }

  /** The effect has been carried out. Gives the id of its row in the outbox, for `remove`; undefined when it has none. */
  done(given: number): number | undefined {
    const id = this.#moved.get(given) ?? given;
    this.#moved.delete(given);
    this.#dues().delete(id);
    if (this.#trace?.id === id) this.#trace = undefined;
    return id > 0 ? id : undefined;
  }

  /** The effect has been carried out, or is given up. Its long text goes with it. */
  remove(given: number): void {
    // Memory changes after the statement: an effect whose statement fails stays due.
    const id = this.#moved.get(given) ?? given;
    if (id > 0) {
      const [row] = this.statements.all<{ body: string }>("SELECT body FROM outbox WHERE id = ?", id);
      this.transaction(() => {
        this.statements.remove("outbox", { id });
        if (row) this.statements.texts.drop(row.body);
      });
    }
    this.done(given);
  }

  /** Replaces what the effect is. Its attempts and its due time stay. Called inside a transaction. */
  replace(id: number, kind: string, body: string): void {
    this.statements.update("outbox", { id }, { kind, body: this.statements.texts.store(body, "outbox", id) });
    const { due } = this.#dues().get(id) ?? { due: Date.now() };
    this.#dues().set(id, { due, kind });
  }

  /**
   * Keeps what outlives the thread, and nothing else. Called inside the transaction that deletes the thread. What it gives
   * is called after that.
   */
  leave(): () => void {
    const trace = this.#trace;
    const id = trace && this.#insert(trace);
    for (const { id: task } of this.statements.all<{ id: number }>("SELECT id FROM outbox WHERE kind = 'task'"))
      this.statements.remove("outbox", { id: task });
    const left = this.statements.all<{ body: string }>("SELECT body FROM outbox");
    this.statements.texts.keepOnly(left.map(({ body }) => body));
    return () => {
      if (trace && id !== undefined) this.#moved.set(trace.id, id);
      this.#trace = undefined;
    };
  }

  /** Notes a failed attempt; the next is due at `due`. A trace that the thread's row holds moves to the outbox. */
  retry({ id: given, kind, body, attempts }: OutboxRow, due: number): void {
    const id = this.#moved.get(given) ?? given;
    const known = this.#dues().get(id);
    if (id > 0) {
      this.statements.update("outbox", { id }, { attempts: attempts + 1, due });
      // It may be of another kind by now, or removed.
      if (known) this.#dues().set(id, { due, kind: known.kind });
    } else if (this.#trace?.id === id) {
      const moved = this.#insert({ kind, body, attempts: 1, due });
      this.done(id);
      if (moved !== undefined) this.#dues().set(moved, { due, kind });
    }
  }

  /** Clears the cached facts about the rows: they are read again. */
  forget(): void {
    this.#known = undefined;
  }

  #setTrace(body: string): void {
    const [kind, due] = ["trace", Date.now()];
    this.#trace = { id: -(this.#traces += 1), kind, body, attempts: 0, due };
    this.#dues().set(this.#trace.id, { due, kind, row: this.#trace });
  }

  /** Undefined when the thread is deleted. */
  #insert({ kind, body, attempts, due }: Omit<OutboxRow, "id">): number | undefined {
    this.#dues();
    const id = (this.#last += 1);
    const held = this.statements.texts.store(body, "outbox", id);
    return this.statements.insert("outbox", { id, kind, body: held, attempts, due }) ? id : undefined;
  }

  #row(id: number): OutboxRow | undefined {
    const known = this.#dues().get(id)?.row;
    if (known) return known;
    const [row] = this.statements.all<OutboxRow>("SELECT * FROM outbox WHERE id = ?", id);
    try {
      return row && { ...row, body: this.statements.texts.load(row.body, "outbox", id) };
    } catch (error) {
      if (!isKeyDestroyed(error)) throw error;
      // It can no longer be carried out, and a deletion of the thread must not wait for it.
      this.remove(id);
      return undefined;
    }
  }

  #dues(): Map<number, Due> {
    if (this.#known) return this.#known;
    const rows = this.statements.all<Omit<Due, "row"> & { id: number }>("SELECT id, due, kind FROM outbox ORDER BY id");
    this.#known = new Map(rows.map(({ id, ...due }) => [id, due]));
    this.#last = Math.max(this.#last, rows.at(-1)?.id ?? 0);
    const trace = this.#trace;
    if (trace) this.#known.set(trace.id, { due: trace.due, kind: trace.kind, row: trace });
    return this.#known;
  }
}
