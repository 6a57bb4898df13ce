/**
 * The ledger of a workspace: its budgets and prices, and what its runs have spent of budgets a day. A run reports its own total, so
 * a report that is repeated, or comes late, changes nothing (docs/budgets.md).
 */
import { DurableObject } from "cloudflare:workers";
import { ObjectTables, type TableSchema } from "../../lib/object-tables.ts";
import { dispatchRpc, type RpcTarget } from "../../lib/rpc.ts";
import { type Budget, MAX_BUDGETS } from "./rule.ts";
import { roundCost, type Price } from "../prices/price-list.ts";
import { type DayUse, type SpendReport, type BudgetRpc, type BudgetUsage, formatDay, WARN_AT } from "./rpc.ts";

// The tables of a workspace's budgets, in their Durable Object's SQLite, and every statement on them.

const SCHEMA: TableSchema = {
  kind: "ledger",
  steps: [
    `CREATE TABLE budgets (id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
     CREATE TABLE prices (only INTEGER PRIMARY KEY CHECK (only = 1), body TEXT NOT NULL) STRICT;
     CREATE TABLE spent (day TEXT, budget TEXT, key TEXT, amount REAL NOT NULL, about TEXT NOT NULL,
       PRIMARY KEY (day, budget, key)) STRICT, WITHOUT ROWID;
     CREATE TABLE shares (day TEXT, budget TEXT, key TEXT, run_id TEXT, total REAL NOT NULL,
       PRIMARY KEY (day, budget, key, run_id)) STRICT, WITHOUT ROWID;`,
  ],
};

/** What a day's row has besides the amount. */
export interface SpendDetails {
  unit: DayUse["unit"];
  limit: number;
  /** By question: what was approved. */
  approved: Record<string, number>;
  /** The run that says that 80 % are reached. */
  warner?: string;
}

export interface SpendRow {
  amount: number;
  about: SpendDetails;
}

/** What people approved of a day, in total. */
export const approvedIn = ({ approved }: Pick<SpendDetails, "approved">): number =>
  roundCost(Object.values(approved).reduce((sum, one) => sum + one, 0));

type SpendKey = Pick<SpendReport, "day" | "budget" | "key">;

export class BudgetTables {
  readonly #sql: SqlStorage;
  readonly #tables: ObjectTables;

  constructor(storage: DurableObjectStorage) {
    this.#sql = storage.sql;
    this.#tables = new ObjectTables(storage, SCHEMA);
  }

  /** One transaction. */
  write<T>(work: () => T): T {
    return this.#tables.write(work);
  }

  budgets(): Budget[] {
    return this.#read<{ body: string }>("SELECT body FROM budgets ORDER BY id").map(
      ({ body }) => JSON.parse(body) as Budget,
    );
  }

  putBudget(budget: Budget): void {
    const sql = "INSERT INTO budgets VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET body = excluded.body";
    this.#sql.exec(sql, budget.id, JSON.stringify(budget));
  }

  deleteBudget(id: string): void {
    this.#sql.exec("DELETE FROM budgets WHERE id = ?", id);
  }

  prices(): Price[] {
    const [row] = this.#read<{ body: string }>("SELECT body FROM prices");
    return row ? (JSON.parse(row.body) as Price[]) : [];
  }

  putPrices(prices: Price[]): void {
    const sql = "INSERT INTO prices VALUES (1, ?) ON CONFLICT (only) DO UPDATE SET body = excluded.body";
    this.#sql.exec(sql, JSON.stringify(prices));
  }

  row({ day, budget, key }: SpendKey): SpendRow | undefined {
    const sql = "SELECT amount, about FROM spent WHERE day = ? AND budget = ? AND key = ?";
    const [row] = this.#read<{ amount: number; about: string }>(sql, day, budget, key);
    return row && { amount: row.amount, about: JSON.parse(row.about) as SpendDetails };
  }

  putRow({ day, budget, key }: SpendKey, { amount, about }: SpendRow): void {
    const sql = `INSERT INTO spent VALUES (?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET amount = excluded.amount, about = excluded.about`;
    this.#sql.exec(sql, day, budget, key, amount, JSON.stringify(about));
  }

  share({ day, budget, key }: SpendKey, runId: string): number {
    const sql = "SELECT total FROM shares WHERE day = ? AND budget = ? AND key = ? AND run_id = ?";
    return this.#read<{ total: number }>(sql, day, budget, key, runId)[0]?.total ?? 0;
  }

  putShare({ day, budget, key }: SpendKey, runId: string, total: number): void {
    const sql = "INSERT INTO shares VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET total = excluded.total";
    this.#sql.exec(sql, day, budget, key, runId, total);
  }

  /** The keys of a day that have spent most, first. */
  uses(day: string, budget: string | undefined, most: number): DayUse[] {
    const sql = `SELECT budget, key, amount, about FROM spent WHERE day = ? AND (?2 IS NULL OR budget = ?2)
      ORDER BY amount DESC, budget, key LIMIT ?`;
    const rows = this.#read<{ budget: string; key: string; amount: number; about: string }>(
      sql,
      day,
      budget ?? null,
      most,
    );
    return rows.map((row) => {
      const about = JSON.parse(row.about) as SpendDetails;
      const { budget, key, amount: spent } = row;
      const approved = approvedIn(about);
      return { budget, key, day, unit: about.unit, spent, limit: roundCost(about.limit + approved), approved };
    });
  }

  /** Deletes what runs have spent of the days before one, and the sums of the days before another. */
  forgetBefore(sharesDay: string, sumsDay: string): void {
    this.#sql.exec("DELETE FROM shares WHERE day < ?", sharesDay);
    this.#sql.exec("DELETE FROM spent WHERE day < ?", sumsDay);
  }

  #read<T extends Record<string, SqlStorageValue>>(sql: string, ...params: SqlStorageValue[]): T[] {
    return this.#tables.made ? this.#sql.exec<T>(sql, ...params).toArray() : [];
  }
}

const DAY_MS = 86_400_000;
/** Days for which a run may report what it has spent, and for which sums are kept. */
const KEPT_DAYS = { shares: 2, sums: 35 };

/** The Durable Object of one workspace's budgets. */
export class Ledger extends DurableObject<Env> implements BudgetRpc, RpcTarget {
  readonly #tables: BudgetTables;
  /** The last day on which old rows were deleted. */
  #cleaned = "";

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#tables = new BudgetTables(ctx.storage);
  }

  async dispatch(method: string, args: unknown[]): Promise<unknown> {
    return dispatchRpc(this, method, args);
  }

  async read(): Promise<{ budgets: Budget[]; prices: Price[] }> {
    return { budgets: this.#tables.budgets(), prices: this.#tables.prices() };
  }

  async putBudget(budget: Budget): Promise<boolean> {
    const known = this.#tables.budgets();
    if (!known.some(({ id }) => id === budget.id) && known.length >= MAX_BUDGETS) return false;
    this.#tables.write(() => this.#tables.putBudget(budget));
    return true;
  }

  async deleteBudget(id: string): Promise<void> {
    if (this.#tables.budgets().some((budget) => budget.id === id))
      this.#tables.write(() => this.#tables.deleteBudget(id));
  }

  async putPrices(prices: Price[]): Promise<void> {
    this.#tables.write(() => this.#tables.putPrices(prices));
  }

  async report(runId: string, reports: SpendReport[]): Promise<BudgetUsage[]> {
    // A run that has spent nothing yet only reads.
    if (reports.every((report) => report.total <= this.#tables.share(report, runId)))
      return reports.map((report) => this.#usage(report, runId));
    return this.#tables.write(() => {
      this.#clean();
      return reports.map((report) => {
        this.#add(report, runId);
        return this.#usage(report, runId);
      });
    });
  }

  async approve(of: Pick<SpendReport, "budget" | "key" | "day">, interruptId: string, amount: number): Promise<void> {
    const row = this.#tables.row(of);
    if (!row || Object.hasOwn(row.about.approved, interruptId)) return;
    row.about.approved[interruptId] = amount;
    this.#tables.write(() => this.#tables.putRow(of, row));
  }

  async uses(day: string, budget: string | undefined, most: number): Promise<DayUse[]> {
    return this.#tables.uses(day, budget, most);
  }

  #add(report: SpendReport, runId: string): void {
    const { day, total, unit, limit } = report;
    const more = total - this.#tables.share(report, runId);
    // The shares of the day may have been deleted.
    if (more <= 0 || day < formatDay(Date.now() - KEPT_DAYS.shares * DAY_MS)) return;
    const row = this.#tables.row(report) ?? { amount: 0, about: { unit, limit, approved: {} } };
    const amount = roundCost(row.amount + more);
    const about: SpendDetails = { ...row.about, unit, limit };
    if (amount >= WARN_AT * (limit + approvedIn(about))) about.warner ??= runId;
    this.#tables.putShare(report, runId, total);
    this.#tables.putRow(report, { amount, about });
  }

  #usage(report: SpendReport, runId: string): BudgetUsage {
    const { amount, about } = this.#tables.row(report) ?? { amount: 0, about: undefined };
    return { spent: amount, extra: about ? approvedIn(about) : 0, warn: about?.warner === runId };
  }

  #clean(): void {
    const today = formatDay(Date.now());
    if (this.#cleaned === today) return;
    this.#cleaned = today;
    const before = (days: number) => formatDay(Date.now() - days * DAY_MS);
    this.#tables.forgetBefore(before(KEPT_DAYS.shares), before(KEPT_DAYS.sums));
  }
}
