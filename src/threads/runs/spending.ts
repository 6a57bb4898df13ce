/**
 * What a run spends of its budgets. It is kept in the run's row with the events of the model call, so an attempt that follows a
 * crash knows what was paid before. What counts a day is kept by the workspace's ledger (docs/budgets.md).
 */
import type { LLMResult } from "@langchain/core/outputs";
import { formatDay, type RunBudget, type Spent, WARN_AT } from "../../limits/budgets/claim.ts";
import { questionFor, describeReached } from "../interrupts/budget.ts";
import { type Standing, workspaceBudgets } from "../../limits/budgets/rpc.ts";
import { logError } from "../../lib/log.ts";
import type { Decider, Question } from "../../runtime/model-guard.ts";
import { roundCost } from "../../limits/prices/price-list.ts";
import { addCost, type PriceTable } from "../../limits/prices/prices.ts";
import { derivedUsage } from "../../limits/prices/usage.ts";
import type { ThreadContext } from "../context.ts";
import type { Emitter } from "../log/emit.ts";
import type { StoredRun } from "../run.ts";
import { queueWarning, buildReports, buildWarning } from "../tasks/budget.ts";

/** A budget is reached, and there is no question to answer, or its answer declined. */
export class BudgetExceeded extends Error {
  override name = "BudgetExceeded";
  /** Neither LangChain's retries nor those of LangGraph repeat it. */
  readonly status = 402;
}

export class Spending implements Decider {
  /** Aborted when a budget ends the run. */
  readonly ended = new AbortController();
  #standings = new Map<string, Standing>();
  /** The day of the standings, and the last report. */
  #day = "";
  #reporting: Promise<void> = Promise.resolve();
  #keeping = false;
  #unpriced = false;
  #closed = false;

  /** `run.outcome.spent` has the state of each budget when it is made, and is changed in place. */
  constructor(
    private readonly context: ThreadContext,
    private readonly run: StoredRun,
    private readonly emitter: Emitter,
    private readonly budgets: RunBudget[],
    private readonly prices: PriceTable,
  ) {}

  async ask(): Promise<Question[]> {
    if (this.budgets.some(({ per }) => per === "day")) {
      // A report that failed is made again: the ledger may answer by now.
      await this.#reporting.catch(() => (this.#day = ""));
      if (this.#day !== formatDay(Date.now())) await (this.#reporting = this.#report());
    }
    const reached = this.budgets.flatMap((budget) => {
      const { spent, limit } = this.#standing(budget);
      return spent >= limit ? [{ budget, spent, limit }] : [];
    });
    const ends = reached.find(({ budget }) => budget.at_limit === "end" || !this.#canAsk);
    if (ends) {
      const error = new BudgetExceeded(describeReached(ends.budget, ends.spent, ends.limit));
      this.ended.abort(error);
      throw error;
    }
    return reached.map(({ budget, spent, limit }) => questionFor(budget, spent, limit, this.run.id, this.#day));
  }

  used({ generations, llmOutput }: LLMResult, metadata: Record<string, unknown>): void {
    const usage = derivedUsage({ generations, llm_output: llmOutput });
    // A node that was abandoned may still wait for its model after the run has ended.
    if (!usage || this.#closed) return;
    const { total_tokens, total_cost } = addCost(usage, metadata, this.prices);
    const day = formatDay(Date.now());
    for (const budget of this.budgets) {
      const amount = budget.unit === "tokens" ? total_tokens : total_cost;
      if (amount === undefined) this.#sayUnpriced(budget, metadata);
      else this.#add(budget, amount, day);
    }
    this.#keep();
    if (this.budgets.some(({ per }) => per === "day"))
      this.#reporting = this.#reporting.catch(() => undefined).then(() => this.#report());
    // An error of it is thrown where it is awaited.
    this.#reporting.catch(() => undefined);
  }

  /** Resolves when the ledger has everything, or could not be reached: then the run's end queues it. */
  async settle(): Promise<void> {
    try {
      await this.#reporting;
    } catch (error) {
      logError(error, { thread: this.context.threadId, while: "reporting what a run has spent" });
    }
    this.#closed = true;
  }

  /** A stateless run has no thread on which an answer could come. */
  get #canAsk(): boolean {
    const { temporary, keep_questions } = this.run.request;
    return !temporary || keep_questions === true;
  }

  #state({ id }: RunBudget): Spent {
    const states = (this.run.outcome.spent ??= {});
    return (states[id] ??= { spent: 0 });
  }

  #standing(budget: RunBudget): { spent: number; limit: number } {
    const { spent, extra = 0 } = budget.per === "day" ? this.#ofDay(budget) : this.#state(budget);
    return { spent, limit: roundCost(budget.limit + extra) };
  }

  #ofDay({ id }: RunBudget): Pick<Standing, "spent" | "extra"> {
    return this.#standings.get(id) ?? { spent: 0, extra: 0 };
  }

  #add(budget: RunBudget, amount: number, day: string): void {
    const state = this.#state(budget);
    state.spent = roundCost(state.spent + amount);
    if (budget.per === "day") {
      state.days = { ...state.days, [day]: roundCost((state.days?.[day] ?? 0) + amount) };
      return;
    }
    const { spent, limit } = this.#standing(budget);
    if (spent >= WARN_AT * limit) this.#warn(budget, spent, limit);
  }

  #warn(budget: RunBudget, spent: number, limit: number, day?: string): void {
    const state = this.#state(budget);
    if (state.warned === (day ?? true)) return;
    state.warned = day ?? true;
    const warning = buildWarning(this.context, this.run, { budget, spent, limit, day });
    this.emitter.emit("custom", [], JSON.stringify({ name: "budget.warning", payload: warning }));
    this.context.eventLog.due(() => queueWarning(this.context, this.run, budget, warning));
    this.#keep();
  }

  /** Writes the state with the next events: what is visible of a model call is also paid. */
  #keep(): void {
    if (this.#keeping) return;
    this.#keeping = true;
    const { eventLog, tables } = this.context;
    const { run } = this;
    eventLog.due(() => {
      this.#keeping = false;
      tables.runs.set(run.id, run.status, JSON.stringify(run.outcome));
    });
  }

  /** Reports to the ledger what the run has spent, and reads what all runs have. */
  async #report(): Promise<void> {
    const { env, workspaceId, eventLog } = this.context;
    const today = formatDay(Date.now());
    const budgets = this.budgets.filter(({ per }) => per === "day");
    const reports = budgets.flatMap((budget) => buildReports(budget, this.#state(budget), today));
    // After a crash the run must not report less than the ledger has.
    if (this.#keeping) eventLog.flush();
    const answers = await workspaceBudgets(env, workspaceId).report(this.run.id, reports);
    for (const [i, { budget: id, day, total, limit }] of reports.entries()) {
      const answer = answers[i];
      const budget = budgets.find((one) => one.id === id);
      if (!answer || !budget) continue;
      const state = this.#state(budget);
      state.reported = { ...state.reported, [day]: total };
      if (answer.warn) this.#warn(budget, answer.spent, roundCost(limit + answer.extra), day);
      if (day === today) this.#standings.set(id, answer);
    }
    this.#day = today;
  }

  #sayUnpriced({ id }: RunBudget, { ls_model_name: model }: Record<string, unknown>): void {
    if (this.#unpriced) return;
    this.#unpriced = true;
    const message = `The model "${String(model)}" has no price, so the budget "${id}" does not count its calls.`;
    console.warn(JSON.stringify({ level: "warn", thread: this.context.threadId, message }));
  }
}
