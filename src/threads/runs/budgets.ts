/** A run's budgets: how their counts begin, what answers change, and what its end leaves on the thread. */
import { insertAudit } from "../../access/audit/store.ts";
import type { RunBudget, Spent } from "../../limits/budgets/claim.ts";
import { knownBudgets } from "../../limits/budgets/rpc.ts";
import { workspaceBudgets } from "../../limits/budgets/rpc.ts";
import { database } from "../../db/client.ts";
import { logError } from "../../lib/log.ts";
import { deriveUuid } from "../../lib/uuid.ts";
import { priceTable } from "../../limits/prices/prices.ts";
import { roundCost } from "../../limits/prices/price-list.ts";
import type { ThreadContext } from "../context.ts";
import type { Emitter } from "../log/emit.ts";
import type { ThreadRecord } from "../record.ts";
import type { StoredRun } from "../run.ts";
import { type Answered, budgetAnswers, continuesAsked } from "../interrupts/budget-resume.ts";
import { BudgetExceeded, Spending } from "./spending.ts";

/**
 * Carries out what the run's answers approve, and gives what counts its spending; undefined when no budget applies. Called at
 * each attempt. Throws when an answer declines.
 */
export async function readSpending(
  context: ThreadContext,
  run: StoredRun,
  emitter: Emitter,
): Promise<Spending | undefined> {
  const thread = context.record as ThreadRecord;
  const { budgets = [] } = run.request;
  const { answers } = budgetAnswers(run, thread);
  if (budgets.length === 0 && answers.length === 0) return undefined;
  // Of an attempt that follows a crash, the row has what the one before has spent.
  run.outcome.spent ??= beginSpending(run, thread, answers);
  for (const answer of answers) await carryOut(context, run, answer);
  const declined = answers.find(({ amount }) => amount === undefined);
  if (declined) throw new BudgetExceeded(`More of the budget "${declined.question.budget}" was not approved.`);
  if (budgets.length === 0) return undefined;
  const { prices } = await knownBudgets(context.env, context.workspaceId);
  return new Spending(context, run, emitter, budgets, priceTable(context.env.TRACE_PRICES, prices));
}

function beginSpending(run: StoredRun, thread: ThreadRecord, answers: Answered[]): Record<string, Spent> {
  const continues = continuesAsked(run, thread);
  const states = (run.request.budgets ?? []).flatMap(({ id, per }) => {
    if (per === "day" || (per === "run" && !continues)) return [];
    const { spent = 0, extra = 0, warned, approved = [] } = thread.spent?.[spendingKey({ id, per })] ?? {};
    // A question that waits again, because the run that answered it was undone, has raised the limit already.
    const fresh = answers.filter(({ id: asked, question, amount }) => {
      return amount !== undefined && question.budget === id && !approved.includes(asked);
    });
    const more = fresh.reduce((sum, { amount = 0 }) => sum + amount, extra);
    const questions = [...approved, ...fresh.map((one) => one.id)];
    const raised = {
      ...(more > 0 && { extra: roundCost(more) }),
      ...(questions.length > 0 && { approved: questions }),
    };
    return [[id, { spent, ...raised, ...(warned && { warned }) } satisfies Spent] as const];
  });
  return Object.fromEntries(states);
}

async function carryOut(context: ThreadContext, run: StoredRun, { id, question, amount }: Answered): Promise<void> {
  const { env, workspaceId, threadId } = context;
  const { budget, key, day } = question;
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
        unit: question.unit,
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
export function spentAfter({ spent }: ThreadRecord, { request, outcome }: StoredRun): ThreadRecord["spent"] {
  const own = (request.budgets ?? []).flatMap(({ id, per }) => {
    const state = per === "day" ? undefined : outcome.spent?.[id];
    return state ? [[spendingKey({ id, per }), state] as const] : [];
  });
  return own.length > 0 ? { ...spent, ...Object.fromEntries(own) } : spent;
}

/** A budget whose period was changed begins to count again. */
const spendingKey = ({ id, per }: Pick<RunBudget, "id" | "per">): string => `${per} ${id}`;
