/** The rules of flow control, what they have in use, and who waits: `/api/v1/flow`. */
import { Count, Id, Time, whole } from "../../http/shapes.ts";
import { Hono } from "hono";
import * as v from "valibot";
import { audit } from "../../access/audit/record.ts";
import { createDoc, NOTHING } from "../../http/route.ts";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";
import { body, param, query } from "../../http/validate.ts";
import { forgetRules, flowControl, type WaitingLease } from "./rpc.ts";
import { deployedRules, FlowRule, mergeRules, MAX_RULES, RuleBody, RuleId } from "./rule.ts";
import type { PoolUse } from "./book.ts";

const doc = createDoc("Flow control");

const RuleParam = v.object({ rule_id: RuleId });
const UseQuery = v.object({ limit: v.optional(whole(1, 1_000), "100") });
const WaitingQuery = v.object({
  rule: v.optional(RuleId),
  key: v.optional(v.pipe(v.string(), v.maxLength(200))),
  limit: v.optional(whole(1, 1_000), "100"),
});

const ShownRule = v.pipe(
  v.object({ ...FlowRule.entries, source: v.picklist(["deployment", "workspace"]) }),
  v.title("FlowRule"),
);
const Use = v.object({
  rule: v.string(),
  key: v.string(),
  held: Count,
  waiting: Count,
  starts_last_minute: Count,
  tokens_last_minute: Count,
  oldest_at: v.nullable(Time),
});
const WaitingRun = v.object({
  run_id: Id,
  thread_id: v.string(),
  priority: Count,
  position: Count,
  waiting_for: v.array(v.object({ rule: v.string(), key: v.string(), reason: v.string() })),
  since: Time,
});

const showRule = (rule: FlowRule, source: "deployment" | "workspace") => ({ ...rule, source });

const shownUse = ({ oldest, starts, tokens, ...use }: PoolUse): v.InferOutput<typeof Use> => ({
  ...use,
  starts_last_minute: starts,
  tokens_last_minute: tokens,
  oldest_at: oldest === undefined ? null : new Date(oldest).toISOString(),
});

const showWaiting = ({ due, ...waiting }: WaitingLease): v.InferOutput<typeof WaitingRun> => ({
  ...waiting,
  since: new Date(due).toISOString(),
});

const isDeployed = (id: string) => deployedRules.some((rule) => rule.id === id);

function refuseDeployed(id: string): void {
  if (isDeployed(id)) throw new Problem(409, `The rule "${id}" is in langgraph.json. Change it there and deploy.`);
}

export const flowRoutes = new Hono<App>()
  .get(
    "/flow/rules",
    doc(
      "List the rules of flow control: of the deployment, then of the workspace",
      v.object({ rules: v.array(ShownRule) }),
    ),
    async (c) => {
      const own = await flowControl(c.env, c.get("principal").workspaceId).rules();
      const rules = mergeRules(deployedRules, own);
      return c.json({ rules: rules.map((rule) => showRule(rule, isDeployed(rule.id) ? "deployment" : "workspace")) });
    },
  )
  .put(
    "/flow/rules/:rule_id",
    doc("Create or replace a rule of the workspace; runs that wait are looked at again", ShownRule),
    param(RuleParam),
    body(RuleBody),
    async (c) => {
      const { workspaceId } = c.get("principal");
      const rule = { id: c.req.valid("param").rule_id, ...c.req.valid("json") };
      refuseDeployed(rule.id);
      if (!(await flowControl(c.env, workspaceId).putRule(rule)))
        throw new Problem(409, `A workspace has at most ${MAX_RULES} rules. Delete one first.`);
      forgetRules(workspaceId);
      await audit(c, { action: "flow_rule.updated", targetId: rule.id, detail: rule });
      return c.json(showRule(rule, "workspace"));
    },
  )
  .delete(
    "/flow/rules/:rule_id",
    doc("Delete a rule of the workspace: runs that wait for it begin", NOTHING),
    param(RuleParam),
    async (c) => {
      const { workspaceId } = c.get("principal");
      const { rule_id } = c.req.valid("param");
      refuseDeployed(rule_id);
      const flow = flowControl(c.env, workspaceId);
      if (!(await flow.rules()).some(({ id }) => id === rule_id)) throw new Problem(404, "Rule not found.");
      await audit(c, { action: "flow_rule.deleted", targetId: rule_id });
      await flow.deleteRule(rule_id);
      forgetRules(workspaceId);
      return c.body(null, 204);
    },
  )
  .get(
    "/flow/use",
    doc(
      "What each key of each rule has in use, and how many runs wait, the longest queues first",
      v.object({ uses: v.array(Use) }),
    ),
    query(UseQuery),
    async (c) => {
      const uses = await flowControl(c.env, c.get("principal").workspaceId).uses(c.req.valid("query").limit);
      return c.json({ uses: uses.map(shownUse) });
    },
  )
  .get(
    "/flow/waiting",
    doc(
      "The runs that wait: for any rule, for one, or for one key of it, in their order",
      v.object({ runs: v.array(WaitingRun) }),
    ),
    query(WaitingQuery),
    async (c) => {
      const { rule, key, limit } = c.req.valid("query");
      const runs = await flowControl(c.env, c.get("principal").workspaceId).waiting(rule, key, limit);
      return c.json({ runs: runs.map(showWaiting) });
    },
  );
