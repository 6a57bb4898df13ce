/**
 * Ids that a request may derive again after what they named is gone or done: a revoked link, a run that was deleted or rolled back,
 * a state update. What such an id named is not made a second time.
 */
import type { Statements } from "./statements.ts";

export class Tombstones {
  /** When the first one may go; null: none will. Undefined: not read. */
  #due: number | null | undefined;

  constructor(private readonly sql: Statements) {}

  has(id: string): boolean {
    return this.read(id) !== undefined;
  }

  /** The text that is kept with the id; undefined when the id is free. */
  read(id: string): string | undefined {
    const sql = "SELECT body FROM tombstones WHERE id = ? AND (until IS NULL OR until > ?)";
    const [row] = this.sql.all<{ body: string }>(sql, id, Date.now());
    return row && this.sql.texts.load(row.body, "tombstones", id);
  }

  /** The ids that are kept. */
  ids(): string[] {
    const sql = "SELECT id FROM tombstones WHERE until IS NULL OR until > ?";
    return this.sql.all<{ id: string }>(sql, Date.now()).map(({ id }) => id);
  }

  /** `until`: when the id can no longer be derived, milliseconds; null: it can be as long as there is the thread. */
  add(id: string, until: number | null, body = ""): void {
    this.sql.insert("tombstones", { id, until, body: this.sql.texts.store(body, "tombstones", id) }, "replace");
    this.#due = undefined;
  }

  /** When the first one may go. */
  nextDue(): number | undefined {
    if (this.#due === undefined)
      this.#due = this.sql.all<{ due: number | null }>("SELECT min(until) AS due FROM tombstones")[0]?.due ?? null;
    return this.#due ?? undefined;
  }

  /** Removes those whose time is over. */
  clean(now: number): void {
    if ((this.nextDue() ?? Infinity) > now) return;
    for (const { id } of this.sql.all<{ id: string }>("SELECT id FROM tombstones WHERE until <= ?", now))
      this.sql.remove("tombstones", { id });
    this.#due = undefined;
  }

  /** Clears the cached facts about the rows: they are read again. */
  forget(): void {
    this.#due = undefined;
  }
}
