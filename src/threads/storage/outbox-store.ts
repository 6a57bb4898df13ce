/** The outbox's rows: side effects that are still to be carried out. */
import type { Statements } from "../storage/statements.ts";

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

  constructor(private readonly statements: Statements) {}

  /** Adds an effect that is due at once. Returns its id, or undefined when the thread is deleted. */
  add(kind: string, body: string): number | undefined {
    const due = Date.now();
    const sql = "INSERT INTO outbox (kind, body, due) VALUES (?, ?, ?) RETURNING id";
    const id = this.statements.all<{ id: number }>(sql, kind, body, due)[0]?.id;
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
    return this.#trace ? `${record.slice(0, -1)},"trace":${this.#trace.body}}` : record;
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

  /** The next effects of these kinds that are due, in the order in which they came. */
  due(now: number, kinds: readonly string[]): OutboxRow[] {
    const due = [...this.#dues().values()].filter((one) => one.due <= now && kinds.includes(one.kind));
    const rows = due.flatMap(({ row }) => row ?? []);
    if (rows.length === due.length) return rows;
    const sql = `SELECT * FROM outbox WHERE due <= ? AND kind IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT 8`;
    const stored = this.statements.all<OutboxRow>(sql, now, JSON.stringify(kinds));
    return [...stored, ...rows.filter(({ id }) => id < 0)];
  }

  /** When the next effect is due; undefined when nothing is left. */
  nextDue(): number | undefined {
    const dues = this.#dues();
    return dues.size === 0 ? undefined : Math.min(...[...dues.values()].map(({ due }) => due));
  }

  /** The effect has been carried out. Gives the id of its row in the outbox, for `remove`; undefined when it has none. */
  done(given: number): number | undefined {
    const id = this.#moved.get(given) ?? given;
    this.#moved.delete(given);
    this.#dues().delete(id);
    if (this.#trace?.id === id) this.#trace = undefined;
    return id > 0 ? id : undefined;
  }

  /** The effect has been carried out, or is given up. */
  remove(given: number): void {
    // Memory changes after the statement: an effect whose statement fails stays due.
    const id = this.#moved.get(given) ?? given;
    if (id > 0) this.statements.run("DELETE FROM outbox WHERE id = ?", id);
    this.done(given);
  }

  /** Notes a failed attempt; the next is due at `due`. A trace that the thread's row holds moves to the outbox. */
  retry({ id: given, kind, body }: OutboxRow, due: number): void {
    const id = this.#moved.get(given) ?? given;
    if (id > 0) {
      this.statements.run("UPDATE outbox SET attempts = attempts + 1, due = ? WHERE id = ?", due, id);
      this.#dues().set(id, { due, kind });
    } else if (this.#trace?.id === id) {
      const sql = "INSERT INTO outbox (kind, body, attempts, due) VALUES (?, ?, 1, ?) RETURNING id";
      const rows = this.statements.all<{ id: number }>(sql, kind, body, due);
      this.done(id);
      for (const row of rows) this.#dues().set(row.id, { due, kind });
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

  #dues(): Map<number, Due> {
    if (this.#known) return this.#known;
    const rows = this.statements.all<Omit<Due, "row"> & { id: number }>("SELECT id, due, kind FROM outbox");
    this.#known = new Map(rows.map(({ id, ...due }) => [id, due]));
    const trace = this.#trace;
    if (trace) this.#known.set(trace.id, { due: trace.due, kind: trace.kind, row: trace });
    return this.#known;
  }
}
