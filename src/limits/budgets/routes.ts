/** The budgets of a workspace, what is spent of them, and the prices of models: `/api/v1/budgets`, `/api/v1/prices`. */
import { Hono } from "hono";
import * as v from "valibot";
import { audit } from "../../access/audit/record.ts";
import { type Budget, BudgetBody, deployedBudgets, MAX_BUDGETS } from "./rule.ts";
import { mergeRules, RuleId } from "../flow/rule.ts";
import { webhookFault } from "../../http/addresses.ts";
import { createDoc, NOTHING } from "../../http/route.ts";
import { whole } from "../../http/shapes.ts";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";
import { body, param, query } from "../../http/validate.ts";
import { type Price, PRICES } from "../prices/price-list.ts";
import { deploymentPrices, PriceList, PriceShape } from "../prices/prices.ts";
import { formatDay, forgetBudgets, workspaceBudgets } from "./rpc.ts";

const doc = createDoc("Budgets");

const BudgetParam = v.object({ budget_id: RuleId });
const UseQuery = v.object({
  budget: v.optional(RuleId),
  day: v.optional(v.pipe(v.string(), v.isoDate("expected a date such as 2026-11-25"))),
  limit: v.optional(whole(1, 1_000), "100"),
});
const PricesBody = v.strictObject({ prices: PriceList });

const Source = v.picklist(["deployment", "workspace"]);
const ShownBudget = v.pipe(v.object({ id: RuleId, ...BudgetBody.entries, source: Source }), v.title("Budget"));
const Use = v.object({
  budget: v.string(),
  key: v.string(),
  day: v.string(),
  unit: v.picklist(["dollars", "tokens"]),
  spent: v.number(),
  limit: v.number(),
  approved: v.number(),
});
const Prices = v.object({
  prices: v.array(v.object({ ...PriceShape.entries, source: v.picklist(["workspace", "deployment", "list"]) })),
});

const showBudget = (budget: Budget, source: "deployment" | "workspace") => ({ ...budget, source });
const labelPrices = (prices: Price[], source: "workspace" | "deployment" | "list") =>
  prices.map((price) => ({ ...price, source }));

const isDeployed = (id: string) => deployedBudgets.some((budget) => budget.id === id);

function refuseDeployed(id: string): void {
  if (isDeployed(id)) throw new Problem(409, `The budget "${id}" is in langgraph.json. Change it there and deploy.`);
}

export const budgetRoutes = new Hono<App>()
  .get(
    "/budgets",
    doc("List the budgets of the deployment, then of the workspace", v.object({ budgets: v.array(ShownBudget) })),
    async (c) => {
      const { budgets: own } = await workspaceBudgets(c.env, c.get("principal").workspaceId).read();
      const budgets = mergeRules(deployedBudgets, own);
      return c.json({
        budgets: budgets.map((one) => showBudget(one, isDeployed(one.id) ? "deployment" : "workspace")),
      });
    },
  )
  .get(
    "/budgets/use",
    doc("What the runs of a day have spent of budgets a day, by key, the most first", v.object({ uses: v.array(Use) })),
    query(UseQuery),
    async (c) => {
      const { budget, day = formatDay(Date.now()), limit } = c.req.valid("query");
      const uses = await workspaceBudgets(c.env, c.get("principal").workspaceId).uses(day, budget, limit);
      return c.json({ uses });
    },
  )
  .put(
    "/budgets/:budget_id",
    doc("Create or replace a budget of the workspace; it counts for runs that are made from now on", ShownBudget),
    param(BudgetParam),
    body(BudgetBody),
    async (c) => {
      const { workspaceId } = c.get("principal");
      const budget: Budget = { id: c.req.valid("param").budget_id, ...c.req.valid("json") };
      refuseDeployed(budget.id);
      const fault = budget.webhook && webhookFault(budget.webhook, c.env.ALLOW_PRIVATE_ADDRESSES === "true");
      if (fault) throw new Problem(422, `webhook: ${fault}`);
      if (!(await workspaceBudgets(c.env, workspaceId).putBudget(budget)))
        throw new Problem(409, `A workspace has at most ${MAX_BUDGETS} budgets. Delete one first.`);
      forgetBudgets(workspaceId);
      await audit(c, { action: "budget.updated", targetId: budget.id, detail: { ...budget } });
      return c.json(showBudget(budget, "workspace"));
    },
  )
  .delete("/budgets/:budget_id", doc("Delete a budget of the workspace", NOTHING), param(BudgetParam), async (c) => {
    const { workspaceId } = c.get("principal");
    const { budget_id } = c.req.valid("param");
    refuseDeployed(budget_id);
    const own = workspaceBudgets(c.env, workspaceId);
    if (!(await own.read()).budgets.some(({ id }) => id === budget_id)) throw new Problem(404, "Budget not found.");
    await audit(c, { action: "budget.deleted", targetId: budget_id });
    await own.deleteBudget(budget_id);
    forgetBudgets(workspaceId);
    return c.body(null, 204);
  })
  .get(
    "/prices",
    doc("List the prices of models, US dollars for a million tokens; the first that matches a model counts", Prices),
    async (c) => {
      const { prices: own } = await workspaceBudgets(c.env, c.get("principal").workspaceId).read();
      const deployment = deploymentPrices(c.env.TRACE_PRICES);
      return c.json({
        prices: [
          ...labelPrices(own, "workspace"),
          ...labelPrices(deployment, "deployment"),
          ...labelPrices(PRICES, "list"),
        ],
      });
    },
  )
  .put(
    "/prices",
    doc("Replace the workspace's own prices, which count before all others", Prices),
    body(PricesBody),
    async (c) => {
      const { workspaceId } = c.get("principal");
      const { prices } = c.req.valid("json");
      await workspaceBudgets(c.env, workspaceId).putPrices(prices);
      forgetBudgets(workspaceId);
      await audit(c, { action: "prices.updated", targetId: workspaceId, detail: { prices: prices.length } });
      return c.json({ prices: labelPrices(prices, "workspace") });
    },
  );
