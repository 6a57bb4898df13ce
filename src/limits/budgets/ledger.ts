/**
 * The ledger of a workspace: its budgets and prices, and what its runs have spent of budgets a day. A run reports its own total, so
 * a report that is repeated, or comes late, changes nothing (docs/budgets.md).
 */
import { type Budget, MOST_BUDGETS } from "./rule.ts";
import { roundCost } from "../../traces/usage/cost.ts";
import type { Price } from "../prices/price-list.ts";
import { formatDay, WARN_AT } from "./claim.ts";
import type { BudgetRpc, DayUse, Report, Standing } from "./rpc.ts";
import { type About, approvedIn, BudgetTables } from "../../budgets/tables.ts";

const DAY_MS = 86_400_000;
/** Days for which a run may report what it has spent, and for which sums are kept. */
const KEPT_DAYS = { shares: 2, sums: 35 };

export class Ledger implements BudgetRpc {
  readonly #tables: BudgetTables;
  /** The last day on which old rows were deleted. */
  #cleaned = "";

  constructor(storage: DurableObjectStorage) {
    this.#tables = new BudgetTables(storage);
  }

  async read(): Promise<{ budgets: Budget[]; prices: Price[] }> {
    return { budgets: this.#tables.budgets(), prices: this.#tables.prices() };
  }

  async putBudget(budget: Budget): Promise<boolean> {
    const known = this.#tables.budgets();
    if (!known.some(({ id }) => id === budget.id) && known.length >= MOST_BUDGETS) return false;
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

  async report(runId: string, reports: Report[]): Promise<Standing[]> {
    // A run that has spent nothing yet only reads.
    if (reports.every((report) => report.total <= this.#tables.share(report, runId)))
      return reports.map((report) => this.#standing(report, runId));
    return this.#tables.write(() => {
      this.#clean();
      return reports.map((report) => {
        this.#add(report, runId);
        return this.#standing(report, runId);
      });
    });
  }

  async approve(of: Pick<Report, "budget" | "key" | "day">, questionId: string, amount: number): Promise<void> {
    const row = this.#tables.row(of);
    if (!row || Object.hasOwn(row.about.approved, questionId)) return;
    row.about.approved[questionId] = amount;
    this.#tables.write(() => this.#tables.putRow(of, row));
  }

  async uses(day: string, budget: string | undefined, most: number): Promise<DayUse[]> {
    return this.#tables.uses(day, budget, most);
  }

  #add(report: Report, runId: string): void {
    const { day, total, unit, limit } = report;
    const more = total - this.#tables.share(report, runId);
    // The shares of the day may have been deleted.
    if (more <= 0 || day < formatDay(Date.now() - KEPT_DAYS.shares * DAY_MS)) return;
    const row = this.#tables.row(report) ?? { amount: 0, about: { unit, limit, approved: {} } };
    const amount = roundCost(row.amount + more);
    const about: About = { ...row.about, unit, limit };
    if (amount >= WARN_AT * (limit + approvedIn(about))) about.warner ??= runId;
    this.#tables.putShare(report, runId, total);
    this.#tables.putRow(report, { amount, about });
  }

  #standing(report: Report, runId: string): Standing {
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
