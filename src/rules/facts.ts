/** D1: what answers say of rules beside their rows. The number of statements does not depend on the number of rules. */
import { and, eq, sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { inList } from "../db/conditions.ts";
import { annotationQueues } from "../traces/review/queues/table.ts";
import { datasets } from "../traces/review/datasets/table.ts";
import { projects } from "../traces/projects/table.ts";
import { ruleBackfillParts, ruleBackfills, ruleParts } from "../automation/rules/table.ts";
import type { RuleCounts } from "../traces/rpc.ts";
import type { BackfillRow, RuleRow } from "../automation/rules/store.ts";

export interface RuleFacts {
  /** How many runs the rule has taken, and what became of them. */
  counts: RuleCounts;
  /** The newest, with the number of partitions that are left. */
  backfill: (BackfillRow & { left: number }) | undefined;
  names: { project: string | null; queue: string | null; dataset: string | null };
}

const NONE: RuleCounts = { taken: 0, done: 0, failed: 0, cost: 0 };

/** The facts of these rules of a workspace, in their order. */
export async function readFacts(db: Database, workspaceId: string, rules: RuleRow[]): Promise<RuleFacts[]> {
  const ids = rules.map(({ id }) => id);
  const { ruleId, taken, done, failed, cost } = ruleParts;
  const left = sql<number>`(SELECT count(*) FROM ${ruleBackfillParts} p WHERE p.backfill_id = ${ruleBackfills.id})`;
  const isNewest = sql`${ruleBackfills.id} = (SELECT b.id FROM ${ruleBackfills} b WHERE b.rule_id = ${ruleBackfills.ruleId}
    ORDER BY b.created_at DESC, b.id DESC LIMIT 1)`;
  const [counts, backfills, ...named] = await db.batch([
    db
      .select({
        id: ruleId,
        taken: sql<number>`sum(${taken})`,
        done: sql<number>`sum(${done})`,
        failed: sql<number>`sum(${failed})`,
        cost: sql<number>`sum(${cost})`,
      })
      .from(ruleParts)
      .where(inList(ruleId, ids))
      .groupBy(ruleId),
    db
      .select({ row: ruleBackfills, left })
      .from(ruleBackfills)
      .where(and(inList(ruleBackfills.ruleId, ids), isNewest)),
    ...(
      [
        [projects, rules.map(({ projectId }) => projectId)],
        [annotationQueues, rules.flatMap(({ actions }) => actions.queueId ?? [])],
        [datasets, rules.flatMap(({ actions }) => actions.datasetId ?? [])],
      ] as const
    ).map(([table, wanted]) =>
      db
        .select({ id: table.id, name: table.name })
        .from(table)
        .where(and(eq(table.workspaceId, workspaceId), inList(table.id, [...new Set(wanted)]))),
    ),
  ]);
  const sums = new Map(counts.map(({ id, ...own }) => [id, own]));
  const newest = new Map(backfills.map(({ row, left }) => [row.ruleId, { ...row, left }]));
  const [project, queue, dataset] = named.map((rows) => new Map(rows.map(({ id, name }) => [id, name])));
  return rules.map(({ id, projectId, actions: { queueId = "", datasetId = "" } }) => ({
    counts: sums.get(id) ?? NONE,
    backfill: newest.get(id),
    names: {
      project: project?.get(projectId) ?? null,
      queue: queue?.get(queueId) ?? null,
      dataset: dataset?.get(datasetId) ?? null,
    },
  }));
}
