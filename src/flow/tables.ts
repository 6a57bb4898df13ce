/** The tables of a workspace's limiter, in its Durable Object's SQLite, and every statement on them. */
import type { Claim } from "../limits/flow/book.ts";
import type { FlowRule } from "../limits/flow/rule.ts";

/**
 * Applied in order, each once; `flow_versions` has their numbers. The object's class has other objects, whose tables have other
 * names.
 */
const MIGRATIONS = [
  `CREATE TABLE claims (run_id TEXT PRIMARY KEY, body TEXT NOT NULL, granted INTEGER, ended INTEGER, tokens INTEGER,
     stopped INTEGER) STRICT, WITHOUT ROWID;
   CREATE TABLE rules (id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;`,
];

interface ClaimRow extends Record<string, SqlStorageValue> {
  run_id: string;
  body: string;
  granted: number | null;
  ended: number | null;
  tokens: number | null;
  stopped: number | null;
}

/** What a claim's row has as JSON. */
type Body = Pick<Claim, "threadId" | "created" | "due" | "priority" | "needs" | "turn" | "facts">;

export class FlowTables {
  readonly #sql: SqlStorage;
  #made: boolean;

  constructor(private readonly storage: DurableObjectStorage) {
    this.#sql = storage.sql;
    this.#made = this.#sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'flow_versions'").toArray().length > 0;
    if (this.#made) storage.transactionSync(() => this.#migrate());
  }

  /** One transaction. The tables are made by the first one. */
  write(work: () => void): void {
    this.storage.transactionSync(() => {
      if (!this.#made) this.#migrate();
      work();
    });
    this.#made = true;
  }

  claims(): Claim[] {
    if (!this.#made) return [];
    const rows = this.#sql.exec<ClaimRow>("SELECT * FROM claims ORDER BY granted").toArray();
    return rows.map(({ run_id, body, granted, ended, tokens, stopped }) => ({
      runId: run_id,
      ...(JSON.parse(body) as Body),
      granted: granted ?? undefined,
      ended: ended ?? undefined,
      tokens: tokens ?? undefined,
      stopped: stopped !== null,
    }));
  }

  insertClaim(claim: Claim): void {
    const sql = "INSERT INTO claims VALUES (?, ?, ?, NULL, NULL, ?)";
    this.#sql.exec(sql, claim.runId, bodyText(claim), claim.granted ?? null, claim.stopped ? 1 : null);
  }

  /** Writes the needs of a claim, which a rule that pauses it has changed. */
  setNeeds(claim: Claim): void {
    this.#sql.exec("UPDATE claims SET body = ? WHERE run_id = ?", bodyText(claim), claim.runId);
  }

  setClaim({ runId, granted, ended, tokens, stopped }: Claim): void {
    const sql = "UPDATE claims SET granted = ?, ended = ?, tokens = ?, stopped = ? WHERE run_id = ?";
    this.#sql.exec(sql, granted ?? null, ended ?? null, tokens ?? null, stopped ? 1 : null, runId);
  }

  renameClaim(runId: string, to: string): void {
    this.#sql.exec("UPDATE claims SET run_id = ? WHERE run_id = ?", to, runId);
  }

  deleteClaim(runId: string): void {
    this.#sql.exec("DELETE FROM claims WHERE run_id = ?", runId);
  }

  rules(): FlowRule[] {
    if (!this.#made) return [];
    const rows = this.#sql.exec<{ body: string }>("SELECT body FROM rules ORDER BY id").toArray();
    return rows.map(({ body }) => JSON.parse(body) as FlowRule);
  }

  putRule(rule: FlowRule): void {
    const sql = "INSERT INTO rules VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET body = excluded.body";
    this.#sql.exec(sql, rule.id, JSON.stringify(rule));
  }

  deleteRule(id: string): void {
    this.#sql.exec("DELETE FROM rules WHERE id = ?", id);
  }

  #migrate(): void {
    this.#sql.exec("CREATE TABLE IF NOT EXISTS flow_versions (id INTEGER PRIMARY KEY)");
    const done = this.#sql.exec("SELECT id FROM flow_versions").toArray().length;
    for (const [i, statements] of MIGRATIONS.entries()) {
      if (i < done) continue;
      this.#sql.exec(statements);
      this.#sql.exec("INSERT INTO flow_versions VALUES (?)", i + 1);
    }
  }
}

const bodyText = ({ threadId, created, due, priority, needs, turn, facts }: Claim): string =>
  JSON.stringify({ threadId, created, due, priority, needs, turn, facts } satisfies Body);
