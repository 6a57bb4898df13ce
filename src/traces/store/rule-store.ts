import { and, eq, inArray } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { deleteAll } from "../../db/writes.ts";
import { alertEvents, alerts } from "../../automation/alerts/table.ts";
import { ruleBackfillParts, ruleBackfills, ruleFailures, ruleParts, runRules } from "../../automation/rules/table.ts";

/** Deletes a rule with what is known of its work. */
export async function deleteRule(db: Database, workspaceId: string, id: string): Promise<void> {
  const ofRule = db.select({ id: ruleBackfills.id }).from(ruleBackfills).where(eq(ruleBackfills.ruleId, id));
  await deleteAll(db, ruleBackfillParts, inArray(ruleBackfillParts.backfillId, ofRule));
  await deleteAll(db, ruleParts, eq(ruleParts.ruleId, id));
  await deleteAll(db, ruleFailures, eq(ruleFailures.ruleId, id));
  await deleteAll(db, ruleBackfills, eq(ruleBackfills.ruleId, id));
  await db.delete(runRules).where(and(eq(runRules.workspaceId, workspaceId), eq(runRules.id, id)));
}

export async function deleteRulesOfProject(db: Database, workspaceId: string, projectId: string): Promise<void> {
  const rules = await db
    .select({ id: runRules.id })
    .from(runRules)
    .where(and(eq(runRules.workspaceId, workspaceId), eq(runRules.projectId, projectId)))
    .all();
  for (const { id } of rules) await deleteRule(db, workspaceId, id);
  const ofProject = and(eq(alerts.workspaceId, workspaceId), eq(alerts.projectId, projectId));
  const ids = db.select({ id: alerts.id }).from(alerts).where(ofProject);
  await deleteAll(db, alertEvents, inArray(alertEvents.alertId, ids));
  await deleteAll(db, alerts, ofProject);
}
