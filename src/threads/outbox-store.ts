/** The outbox's rows: side effects that are still to be carried out. */
import type { Statements } from "./statements.ts";

export interface OutboxRow {
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
  /** Of every effect, by its id, so that asking costs no statement. Read when first asked for. */
  #known: Map<number, Due> | undefined;

  constructor(private readonly statements: Statements) {}

  /** Adds an effect that is due at once. */
  add(kind: string, body: string): void {
    const due = Date.now();
    const sql = "INSERT INTO outbox (kind, body, due) VALUES (?, ?, ?) RETURNING id";
    // No row is given where the thread is gone.
    for (const { id } of this.statements.all<{ id: number }>(sql, kind, body, due)) {
      this.#dues().set(id, { due, kind, row: { id, kind, body, attempts: 0, due } });
    }
  }

  /** The next effects of these kinds that are due, in the order in which they came. */
  due(now: number, kinds: readonly string[]): OutboxRow[] {
    const due = [...this.#dues().values()].filter((one) => one.due <= now && kinds.includes(one.kind));
    const rows = due.flatMap(({ row }) => row ?? []);
    if (rows.length === due.length) return rows;
    const sql = `SELECT * FROM outbox WHERE due <= ? AND kind IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT 8`;
    return this.statements.all<OutboxRow>(sql, now, JSON.stringify(kinds));
  }

  /** When the next effect is due; undefined when nothing is left. */
  nextDue(): number | undefined {
    const dues = this.#dues();
    return dues.size === 0 ? undefined : Math.min(...[...dues.values()].map(({ due }) => due));
  }

  /** The effect has been carried out; `remove` is still to come. */
  done(id: number): void {
    this.#dues().delete(id);
  }

  remove(id: number): void {
    this.statements.run("DELETE FROM outbox WHERE id = ?", id);
    this.#dues().delete(id);
  }

  /** Notes a failed attempt; the next is due at `due`. */
  retry({ id, kind }: OutboxRow, due: number): void {
    this.statements.run("UPDATE outbox SET attempts = attempts + 1, due = ? WHERE id = ?", due, id);
    this.#dues().set(id, { due, kind });
  }

  /** What is known of the rows may not be so any more: they are read again. */
  forget(): void {
    this.#known = undefined;
  }

  #dues(): Map<number, Due> {
    this.#known ??= new Map(
      this.statements
        .all<Omit<Due, "row"> & { id: number }>("SELECT id, due, kind FROM outbox")
        .map(({ id, ...due }) => [id, due]),
    );
    return this.#known;
  }
}
