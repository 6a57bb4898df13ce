/**
 * What a run spends of its budgets. It is kept in the run's row with the events of the model call, so an attempt that follows a
 * crash knows what was paid before. What counts a day is kept by the workspace's ledger (docs/budgets.md).
 */
import {
  describeReached,
  type RunBudget,
  type BudgetSpending,
  formatDay,
  WARN_AT,
  type SpendReport,
  workspaceBudgets,
  type BudgetUsage,
  knownBudgets,
} from "../../limits/budgets/rpc.ts";
import type { ThreadContext } from "../context.ts";
import type { RunRecord } from "../run.ts";
import type { LLMResult } from "@langchain/core/outputs";
import { interruptFor } from "../interrupts/budget.ts";
import { logError } from "../../lib/log.ts";
import type { ModelCallDecider, GuardInterrupt } from "../../runtime/model-guard.ts";
import { roundCost } from "../../limits/prices/price-list.ts";
import { addCost, type PriceTable, priceTable } from "../../limits/prices/prices.ts";
import { derivedUsage } from "../../limits/prices/usage.ts";
import type { Emitter } from "../log/emit.ts";
import { insertAudit } from "../../access/audit/store.ts";
import { database } from "../../db/client.ts";
import { deriveUuid } from "../../lib/uuid.ts";
import type { ThreadRecord } from "../record.ts";
import { type BudgetResponse, budgetResponses, resumesBudget } from "../interrupts/budget-resume.ts";
import { buildWarning, queueWarning } from "./webhook.ts";

// Reports to the ledger that a run could not make, which the outbox carries out.

/** What the ledger has not, by day. `today`: also of this day, so that it answers. */
export function buildReports(
  { id, key, limit, unit }: RunBudget,
  { days = {}, reported = {} }: BudgetSpending,
  today?: string,
): SpendReport[] {
  const missing = Object.keys(days).filter((day) => days[day] !== reported[day]);
  const named = new Set(today === undefined ? missing : [...missing, today]);
  return [...named].map((day) => ({ budget: id, key, day, total: days[day] ?? 0, limit, unit }));
}

interface ReportedSpending {
  run_id: string;
  reports: SpendReport[];
}

/** Queues what the ledger does not have of an ended run. Called inside the transaction that ends it. */
export function queueReports({ tables }: ThreadContext, { id, request, outcome }: RunRecord): void {
  const reports = (request.budgets ?? []).flatMap((budget) => {
    const state = outcome.spent?.[budget.id];
    return state && budget.per === "day" ? buildReports(budget, state) : [];
  });
  if (reports.length > 0)
    tables.outbox.add("spent", JSON.stringify({ run_id: id, reports } satisfies ReportedSpending));
}

export async function sendReports({ env, workspaceId }: ThreadContext, body: string): Promise<void> {
  const { run_id, reports } = JSON.parse(body) as ReportedSpending;
  await workspaceBudgets(env, workspaceId).report(run_id, reports);
}

/** A budget is reached, and there is no question to answer, or its answer declined. */
export class BudgetExceeded extends Error {
  override name = "BudgetExceeded";
  /** Neither LangChain's retries nor those of LangGraph repeat it. */
  readonly status = 402;
}

export class RunSpending implements ModelCallDecider {
  /** Aborted when a budget ends the run. */
  readonly ended = new AbortController();
  #standings = new Map<string, BudgetUsage>();
  /** The day of the standings, and the last report. */
  #day = "";
  #reporting: Promise<void> = Promise.resolve();
  #keeping = false;
  #unpriced = false;
  #closed = false;

  /** `run.outcome.spent` has the state of each budget when it is made, and is changed in place. */
  constructor(
    private readonly context: ThreadContext,
    private readonly run: RunRecord,
    private readonly emitter: Emitter,
    private readonly budgets: RunBudget[],
    private readonly prices: PriceTable,
  ) {}

  async ask(): Promise<GuardInterrupt[]> {
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
    return reached.map(({ budget, spent, limit }) => interruptFor(budget, spent, limit, this.run.id, this.#day));
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
    const { temporary, keep_interrupts } = this.run.request;
    return !temporary || keep_interrupts === true;
  }

  #state({ id }: RunBudget): BudgetSpending {
    const states = (this.run.outcome.spent ??= {});
    return (states[id] ??= { spent: 0 });
  }

  #standing(budget: RunBudget): { spent: number; limit: number } {
    const { spent, extra = 0 } = budget.per === "day" ? this.#ofDay(budget) : this.#state(budget);
    return { spent, limit: roundCost(budget.limit + extra) };
  }

  #ofDay({ id }: RunBudget): Pick<BudgetUsage, "spent" | "extra"> {
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

// A run's budgets: how their counts begin, what answers change, and what its end leaves on the thread.

/**
 * Carries out what the run's answers approve, and gives what counts its spending; undefined when no budget applies. Called at
 * each attempt. Throws when an answer declines.
 */
export async function readSpending(
  context: ThreadContext,
  run: RunRecord,
  emitter: Emitter,
): Promise<RunSpending | undefined> {
  const thread = context.record as ThreadRecord;
  const { budgets = [] } = run.request;
  const { answers } = budgetResponses(run, thread);
  if (budgets.length === 0 && answers.length === 0) return undefined;
  // Of an attempt that follows a crash, the row has what the one before has spent.
  run.outcome.spent ??= beginSpending(run, thread, answers);
  for (const answer of answers) await carryOut(context, run, answer);
  const declined = answers.find(({ amount }) => amount === undefined);
  if (declined) throw new BudgetExceeded(`More of the budget "${declined.question.budget}" was not approved.`);
  if (budgets.length === 0) return undefined;
  const { prices } = await knownBudgets(context.env, context.workspaceId);
  return new RunSpending(context, run, emitter, budgets, priceTable(context.env.TRACE_PRICES, prices));
}

function beginSpending(
  run: RunRecord,
  thread: ThreadRecord,
  answers: BudgetResponse[],
): Record<string, BudgetSpending> {
  const continues = resumesBudget(run, thread);
  const states = (run.request.budgets ?? []).flatMap(({ id, per }) => {
    if (per === "day" || (per === "run" && !continues)) return [];
    const { spent = 0, extra = 0, warned, approved = [] } = thread.spent?.[spendingKey({ id, per })] ?? {};
    // A question that waits again, because the run that answered it was undone, has raised the limit already.
    const fresh = answers.filter(({ id: asked, question: interrupt, amount }) => {
      return amount !== undefined && interrupt.budget === id && !approved.includes(asked);
    });
    const more = fresh.reduce((sum, { amount = 0 }) => sum + amount, extra);
    const interrupts = [...approved, ...fresh.map((one) => one.id)];
    const raised = {
      ...(more > 0 && { extra: roundCost(more) }),
      ...(interrupts.length > 0 && { approved: interrupts }),
    };
    return [[id, { spent, ...raised, ...(warned && { warned }) } satisfies BudgetSpending] as const];
  });
  return Object.fromEntries(states);
}

async function carryOut(
  context: ThreadContext,
  run: RunRecord,
  { id, question: interrupt, amount }: BudgetResponse,
): Promise<void> {
  const { env, workspaceId, threadId } = context;
  const { budget, key, day } = interrupt;
  if (amount !== undefined && day !== undefined)
    await workspaceBudgets(env, workspaceId).approve({ budget, key, day }, id, amount);
  const { kind = "run", credentialId = run.id, user } = run.request.actor ?? {};
  try {
    await insertAudit(database(env.DB), {
      // The same at every attempt.
      id: deriveUuid(`audit of ${id} ${run.id}`),
      workspaceId,
      at: Date.now(),
      actorKind: kind,
      actorId: credentialId,
      action: amount === undefined ? "budget.declined" : "budget.approved",
      targetId: budget,
      detail: {
        thread_id: threadId,
        run_id: run.id,
        key,
        unit: interrupt.unit,
        ...(amount && { amount }),
        ...(user && { user }),
      },
      address: null,
      userAgent: null,
    });
  } catch (error) {
    if (run.outcome.attempt === 1) throw error;
    logError(error, { thread: threadId, while: "recording an approval again" });
  }
}

/** What the thread keeps: for its next run, or for the one that continues this one. */
export function spendingAfter({ spent }: ThreadRecord, { request, outcome }: RunRecord): ThreadRecord["spent"] {
  const own = (request.budgets ?? []).flatMap(({ id, per }) => {
    const state = per === "day" ? undefined : outcome.spent?.[id];
    return state ? [[spendingKey({ id, per }), state] as const] : [];
  });
  return own.length > 0 ? { ...spent, ...Object.fromEntries(own) } : spent;
}

/** A budget whose period was changed begins to count again. */
const spendingKey = ({ id, per }: Pick<RunBudget, "id" | "per">): string => `${per} ${id}`;
