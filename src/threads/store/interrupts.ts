/** The answers that a thread's questions have taken, and the links by which they can be answered. */
import type { Statements } from "./statements.ts";

export class ResponseStore {
  constructor(private readonly sql: Statements) {}

  /** How many answers the question's id has taken. */
  turn(interruptId: string): number {
    const sql = "SELECT max(n) + 1 AS n FROM answers WHERE interrupt_id = ?";
    return this.sql.all<{ n: number | null }>(sql, interruptId)[0]?.n ?? 0;
  }

  taken(interruptId: string, turn: number): string | undefined {
    const sql = "SELECT body FROM answers WHERE interrupt_id = ? AND n = ?";
    const [row] = this.sql.all<{ body: string }>(sql, interruptId, turn);
    return row && this.sql.texts.load(row.body, "answers", interruptId, turn);
  }

  take(interruptId: string, body: string): void {
    const n = this.turn(interruptId);
    const held = this.sql.texts.store(body, "answers", interruptId, n);
    this.sql.insert("answers", { interrupt_id: interruptId, n, body: held });
  }

  /** Removes the last answer of the question's id. */
  undo(interruptId: string): void {
    this.sql.remove("answers", { interrupt_id: interruptId, n: this.turn(interruptId) - 1 });
  }

  links(): string[] {
    const sql = "SELECT link_id, body FROM links";
    return this.sql
      .all<{ link_id: string; body: string }>(sql)
      .map(({ link_id, body }) => this.sql.texts.load(body, "links", link_id));
  }

  link(linkId: string): string | undefined {
    const [row] = this.sql.all<{ body: string }>("SELECT body FROM links WHERE link_id = ?", linkId);
    return row && this.sql.texts.load(row.body, "links", linkId);
  }

  putLink(linkId: string, body: string): void {
    const held = this.sql.texts.store(body, "links", linkId);
    this.sql.insert("links", { link_id: linkId, body: held }, "replace");
  }

  removeLink(linkId: string): void {
    this.sql.remove("links", { link_id: linkId });
  }
}
