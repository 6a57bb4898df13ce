/** Budgets a day and prices, for calls that are no runs of a thread: docs/budgets.md. */
import { deployedBudgets } from "../../limits/budgets/rule.ts";
import {
  budgetsFor,
  describeReached,
  formatDay,
  type RunBudget,
  knownBudgets,
  type SpendReport,
  type BudgetUsage,
  workspaceBudgets,
} from "../../limits/budgets/rpc.ts";
import { logError } from "../../lib/log.ts";
import { Problem } from "../../lib/problem.ts";
import { sendDelivery } from "../../deliveries/send.ts";
import { addCost, priceTable } from "../../limits/prices/prices.ts";
import { statedUsage, type Usage } from "../../limits/prices/usage.ts";
import type { UsageMetadata } from "./completion.ts";

export interface CallFacts {
  /** Of the call's trace. */
  runId: string;
  workspaceId: string;
  model: string;
  provider: string;
  user?: string | undefined;
}

/** What the deployment and the workspace say about spending, for one call. */
export class CallSpending {
  private constructor(
    private readonly env: Env,
    private readonly facts: CallFacts,
    private readonly budgets: RunBudget[],
    private readonly prices: Awaited<ReturnType<typeof knownBudgets>>["prices"],
  ) {}

  /** @throws Problem 402 when a budget a day that counts the call is reached. The call has no thread on which a person approves more. */
  static async begin(env: Env, facts: CallFacts): Promise<CallSpending> {
    const { budgets: own, prices } = await knownBudgets(env, facts.workspaceId);
    const { runId, model, user } = facts;
    const about = { threadId: runId, assistantId: "", graphId: "playground", user, model, metadata: {} };
    const budgets = (budgetsFor(deployedBudgets, own, about) ?? []).filter(({ per }) => per === "day");
    const spending = new CallSpending(env, facts, budgets, prices);
    for (const { budget, spent, extra } of await spending.#report(undefined)) {
      const limit = budget.limit + extra;
      if (spent >= limit) throw new Problem(402, describeReached(budget, spent, limit));
    }
    return spending;
  }

  /** What the usage costs, with the workspace's prices. */
  priced(usage: UsageMetadata | undefined): Usage | undefined {
    const stated = statedUsage({ usage_metadata: usage });
    const { model, provider } = this.facts;
    return (
      stated &&
      addCost(stated, { ls_model_name: model, ls_provider: provider }, priceTable(this.env.TRACE_PRICES, this.prices))
    );
  }

  /** Counts the call, and calls the webhook of a budget of which 80 % are spent with it. */
  async count(usage: Usage | undefined): Promise<void> {
    if (!usage) return;
    for (const { budget, day, spent, extra, warn } of await this.#report(usage)) {
      if (warn && budget.webhook !== undefined) await this.#warn(budget, { day, spent, limit: budget.limit + extra });
    }
  }

  async #report(usage: Usage | undefined): Promise<(BudgetUsage & { budget: RunBudget; day: string })[]> {
    if (this.budgets.length === 0) return [];
    const day = formatDay(Date.now());
    const reports = this.budgets.map(({ id, key, limit, unit }): SpendReport => {
      const total = (unit === "dollars" ? usage?.total_cost : usage?.total_tokens) ?? 0;
      return { budget: id, key, day, total, limit, unit };
    });
    const { workspaceId, runId } = this.facts;
    const standings = await workspaceBudgets(this.env, workspaceId).report(runId, reports);
    return this.budgets.flatMap((budget, at) => {
      const standing = standings[at];
      return standing ? [{ ...standing, budget, day }] : [];
    });
  }

  /** The same body as of a run, which has a thread. */
  async #warn(budget: RunBudget, state: { day: string; spent: number; limit: number }): Promise<void> {
    const { workspaceId, runId: run_id } = this.facts;
    const { id, per, key, unit, webhook = "" } = budget;
    const delivery = crypto.randomUUID();
    const about = { budget: id, per, key, unit, ...state, run_id };
    const body = JSON.stringify({ type: "budget.warning", delivery_id: delivery, workspace_id: workspaceId, ...about });
    const headers = { "content-type": "application/json" };
    await sendDelivery(this.env, workspaceId, {
      url: webhook,
      delivery,
      headers,
      body,
      stamp: "webhook_sent_at",
    }).catch((error: unknown) => logError(error, { while: "calling the webhook of a budget" }));
  }
}
