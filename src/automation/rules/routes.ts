/** Rules on traced runs: `/runs/rules`. */
import * as v from "valibot";
import { type Context, Hono } from "hono";
import { audit } from "../../access/audit/record.ts";
import { database } from "../../db/client.ts";
import { ResultMessage } from "../../http/shapes.ts";
import { createDoc } from "../../http/route.ts";
import { newOrEarlier, type App } from "../../http/context.ts";
import { Problem } from "../../lib/problem.ts";
import { uuidv7 } from "../../lib/uuid.ts";
import { body, param, query } from "../../http/validate.ts";
import { listPartitions } from "../../traces/projects/partitions.ts";
import {
  deleteRule,
  findRule,
  insertBackfill,
  insertRule,
  listBackfills,
  listRules,
  MAX_RULES,
  type RuleRow,
  updateRule,
} from "./store.ts";
import { toDay } from "../../traces/time.ts";
import type { RulePause } from "../../traces/rpc.ts";
import { readFacts, readLog, Backfill, Rule, RuleLog, toWireBackfill, toWireRule } from "./row.ts";
import { toRuleRow, openRuleSecrets, ruleFault } from "./input.ts";
import { BackfillBody, ListLogs, ListRules, RuleBody, RuleId } from "./schema.ts";

const doc = createDoc("Rules");

export const rules = new Hono<App>()
  .get("/runs/rules", doc("List the rules on runs", v.array(Rule)), query(ListRules), async (c) => {
    const rows = await listRules(database(c.env.DB), c.get("principal").workspaceId, c.req.valid("query"));
    return c.json(await wireAll(c, rows));
  })
  .post("/runs/rules", doc("Create a rule on the runs of a project", Rule), body(RuleBody), async (c) => {
    const given = c.req.valid("json");
    const { workspaceId } = c.get("principal");
    const db = database(c.env.DB);
    const { id, earlier } = await newOrEarlier(c, (one) => findRule(db, workspaceId, one));
    if (earlier) return c.json(await ruleResponse(c, earlier));
    const now = Date.now();
    const row: RuleRow = {
      id,
      workspaceId,
      ...(await toRuleRow(c, given, id)),
      since: now,
      pauses: given.is_enabled ? [] : [[now, null]],
      createdAt: now,
      updatedAt: now,
    };
    await audit(c, { action: "run_rule.created", targetId: id, detail: describeRule(row) });
    if (!(await insertRule(db, row)))
      throw new Problem(409, `A workspace has at most ${MAX_RULES} rules. Delete one first.`);
    if (given.backfill_from !== undefined) await backfill(c, row, { start_time: given.backfill_from });
    return c.json(await ruleResponse(c, row));
  })
  .get("/runs/rules/:rule_id", doc("Read a rule", Rule), param(RuleId), async (c) =>
    c.json(await ruleResponse(c, await requireRule(c))),
  )
  .patch("/runs/rules/:rule_id", doc("Replace a rule", Rule), param(RuleId), body(RuleBody), async (c) => {
    const given = c.req.valid("json");
    const before = await requireRule(c);
    const now = Date.now();
    const row = { ...before, ...(await toRuleRow(c, given, before.id, before)), updatedAt: now };
    row.pauses = changePauses(before, row.isEnabled, now);
    if (row.projectId !== before.projectId)
      throw new Problem(409, "The project of a rule does not change. Create another rule.");
    await audit(c, { action: "run_rule.updated", targetId: row.id, detail: describeRule(row) });
    if (!(await updateRule(database(c.env.DB), row))) throw new Problem(404, "Rule not found.");
    if (given.backfill_from !== undefined) await backfill(c, row, { start_time: given.backfill_from });
    return c.json(await ruleResponse(c, row));
  })
  .delete("/runs/rules/:rule_id", doc("Delete a rule; its feedback stays", ResultMessage), param(RuleId), async (c) => {
    const row = await requireRule(c);
    await audit(c, { action: "run_rule.deleted", targetId: row.id, detail: { name: row.name } });
    await deleteRule(database(c.env.DB), row.workspaceId, row.id);
    return c.json({ message: "Rule deleted" });
  })
  .get(
    "/runs/rules/:rule_id/logs",
    doc("List the runs that wait for a rule, that are done or that have failed", v.array(RuleLog)),
    param(RuleId),
    query(ListLogs),
    async (c) => {
      const row = await requireRule(c);
      return c.json(await readLog(c.env, row, c.req.valid("query")));
    },
  )
  .get(
    "/runs/rules/:rule_id/backfills",
    doc("List the backfills of a rule, newest first", v.array(Backfill)),
    param(RuleId),
    async (c) => {
      const row = await requireRule(c);
      return c.json((await listBackfills(database(c.env.DB), row.id, 100)).map(toWireBackfill));
    },
  )
  .post(
    "/runs/rules/:rule_id/backfills",
    doc("Apply a rule to the runs of a window of time that it has not taken yet", Backfill),
    param(RuleId),
    body(BackfillBody),
    async (c) => {
      const row = await requireRule(c);
      await audit(c, { action: "run_rule.backfilled", targetId: row.id, detail: { ...c.req.valid("json") } });
      return c.json(await backfill(c, row, c.req.valid("json")));
    },
  );

/** @throws Problem 404 */
async function requireRule(c: Context<App>): Promise<RuleRow> {
  const { rule_id } = c.req.param() as { rule_id: string };
  const row = await findRule(database(c.env.DB), c.get("principal").workspaceId, rule_id.toLowerCase());
  if (!row) throw new Problem(404, "Rule not found.");
  return row;
}

/** The most days, with their parts, of one backfill. */
const MAX_PARTS = 900;

/** @throws Problem 413 */
async function backfill(
  c: Context<App>,
  { id: ruleId, workspaceId, projectId }: RuleRow,
  { start_time: startTime, end_time }: { start_time: number; end_time?: number | undefined },
) {
  const db = database(c.env.DB);
  const now = Date.now();
  const endTime = end_time ?? now * 1000;
  const places = await listPartitions(db, workspaceId, projectId, toDay(startTime), toDay(endTime - 1));
  if (places.length > MAX_PARTS) throw new Problem(413, "The window holds too many days. Use a shorter one.");
  const isDone = places.length === 0;
  const row = {
    id: uuidv7(),
    ruleId,
    startTime,
    endTime,
    createdAt: now,
    touchedAt: 0,
    completedAt: isDone ? now : null,
  };
  await insertBackfill(
    db,
    row,
    places.map(({ day, shard }) => ({ day, shard })),
  );
  for (const { day, shard } of places.slice(0, AT_ONCE))
    await c.env.RULES.send({ ruleId, day, shard, backfillId: row.id });
  return toWireBackfill({ ...row, left: places.length });
}

/** Parts that begin at once. The sweep of the next minute wakes the others. */
const AT_ONCE = 10;

/** The oldest pauses are forgotten: what came before them has been read. */
const MAX_PAUSES = 100;

/** A rule that is paused does not work on what comes in the meantime. What came before waits for it. */
function changePauses({ pauses, isEnabled: wasEnabled }: RuleRow, isEnabled: boolean, now: number): RulePause[] {
  if (isEnabled === wasEnabled) return pauses;
  if (!isEnabled) return [...pauses, [now, null] satisfies RulePause].slice(-MAX_PAUSES);
  return pauses.map(([from, to]) => [from, to ?? now]);
}

const describeRule = ({ name, projectId, samplingRate, isEnabled, actions }: RuleRow) => ({
  name,
  session_id: projectId,
  sampling_rate: samplingRate,
  is_enabled: isEnabled,
  actions: Object.keys(actions),
});

async function wireAll(c: Context<App>, rows: RuleRow[]) {
  const facts = await readFacts(database(c.env.DB), c.get("principal").workspaceId, rows);
  const shown = rows.map(async (row, at) => {
    const own = facts[at];
    const secrets = await openRuleSecrets(c.env, row);
    return own ? [toWireRule(row, secrets, own, await ruleFault(c.env, row, secrets, own.names))] : [];
  });
  return (await Promise.all(shown)).flat();
}

/** @throws Problem 404 */
async function ruleResponse(c: Context<App>, row: RuleRow) {
  const [shown] = await wireAll(c, [row]);
  if (!shown) throw new Problem(404, "Rule not found.");
  return shown;
}
