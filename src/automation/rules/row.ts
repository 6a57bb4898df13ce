/** Rules as the platform's clients read them (RunRulesSchema of LangSmith's API), with what Weir counts. */
import { and, eq, sql } from "drizzle-orm";
import { type Database, database } from "../../db/client.ts";
import { inList } from "../../db/conditions.ts";
import { annotationQueues } from "../../traces/review/queues/table.ts";
import { datasets } from "../../traces/review/datasets/table.ts";
import { projects } from "../../traces/projects/table.ts";
import { ruleBackfillParts, ruleBackfills, ruleParts, type RuleJudgeModel } from "./table.ts";
import type { RuleCounts, RuleRunState } from "../../traces/rpc.ts";
import {
  ALL_RUNS,
  type BackfillRow,
  type RuleRow,
  type FailureRow,
  failuresOn,
  listFailures,
  listParts,
} from "./store.ts";
import { HIDDEN, hiddenHeaders, type ReceiverSecrets } from "../../deliveries/receiver.ts";
import { isoFromMicros } from "../../traces/time.ts";
import { readActions } from "./actions.ts";
import type { ListLogs } from "./schema.ts";
import { tracePartition } from "../../traces/stub.ts";
import type { Backfill, Rule, RuleLog } from "./wire.ts";

export { Rule, Backfill, RuleLog } from "./wire.ts";

// D1: what answers say of rules beside their rows. The number of statements does not depend on the number of rules.

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
  // The runs that waited in a partition that is gone are deleted, as those that are deleted one by one.
  const isThere = sql`EXISTS (SELECT 1 FROM run_rules r JOIN trace_partitions p
    ON p.workspace_id = r.workspace_id AND p.project_id = r.project_id
    WHERE r.id = rule_parts.rule_id AND p.day = rule_parts.day AND p.shard = rule_parts.shard)`;
  const left = sql<number>`(SELECT count(*) FROM ${ruleBackfillParts} p WHERE p.backfill_id = ${ruleBackfills.id})`;
  const isNewest = sql`${ruleBackfills.id} = (SELECT b.id FROM ${ruleBackfills} b WHERE b.rule_id = ${ruleBackfills.ruleId}
    ORDER BY b.created_at DESC, b.id DESC LIMIT 1)`;
  const [counts, backfills, ...named] = await db.batch([
    db
      .select({
        id: ruleId,
        taken: sql<number>`sum(${taken})`,
        done: sql<number>`sum(${done})`,
        failed: sql<number>`sum(iif(${isThere}, ${failed}, ${taken} - ${done}))`,
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

const iso = (millis: number) => new Date(millis).toISOString();

type BackfillProgress = BackfillRow & { left: number };

/** `error`: why the rule cannot do all that it should. */
export function toWireRule(
  row: RuleRow,
  secrets: ReceiverSecrets,
  { counts, backfill, names }: RuleFacts,
  error: string | null,
): Rule {
  const { extend = [], queueId, datasetId, code, judges, webhooks } = row.actions;
  return {
    id: row.id,
    tenant_id: row.workspaceId,
    display_name: row.name,
    is_enabled: row.isEnabled,
    error,
    session_id: row.projectId,
    session_name: names.project,
    dataset_id: null,
    dataset_name: null,
    sampling_rate: row.samplingRate,
    filter: row.filter,
    trace_filter: row.traceFilter,
    tree_filter: row.treeFilter,
    add_to_annotation_queue_id: queueId ?? null,
    add_to_annotation_queue_name: names.queue,
    add_to_dataset_id: datasetId ?? null,
    add_to_dataset_name: names.dataset,
    add_to_dataset_prefer_correction: false,
    evaluators:
      judges?.map(({ prompt, format, variables, schema, model }, at) => ({
        structured: {
          prompt,
          template_format: format,
          variable_mapping: variables,
          schema,
          model: shownModel(model, secrets.keys[at] ?? null),
        },
      })) ?? null,
    code_evaluators: code?.map((name) => ({ code: name, language: "javascript" })) ?? null,
    webhooks: webhooks?.map(({ url }, at) => ({ url, headers: hiddenHeaders(secrets.headers[at]) ?? null })) ?? null,
    alerts: null,
    corrections_dataset_id: null,
    use_corrections_dataset: false,
    num_few_shot_examples: null,
    evaluator_id: null,
    evaluator_version: 1,
    extend_only: extend.includes("extend_only"),
    extend_evaluator_trace_retention: extend.includes("extend_evaluator_trace_retention"),
    extend_dataset_trace_retention: extend.includes("extend_dataset_trace_retention"),
    extend_annotation_queue_trace_retention: extend.includes("extend_annotation_queue_trace_retention"),
    extend_webhook_trace_retention: extend.includes("extend_webhook_trace_retention"),
    include_extended_stats: false,
    transient: false,
    group_by: null,
    backfill_from: backfill ? isoFromMicros(backfill.startTime) : null,
    backfill_id: backfill?.id ?? null,
    backfill_status: backfill ? toWireBackfill(backfill).status : null,
    backfill_progress: backfill?.completedAt ? 1 : null,
    backfill_error: null,
    backfill_completed_at: backfill?.completedAt ? iso(backfill.completedAt) : null,
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
    stats: { ...counts, waiting: Math.max(0, counts.taken - counts.done - counts.failed) },
  };
}

function shownModel(model: RuleJudgeModel, key: string | null): object {
  return key === null ? model : { ...model, api_key: HIDDEN };
}

export function toWireBackfill({
  id,
  ruleId,
  startTime,
  endTime,
  createdAt,
  completedAt,
  left,
}: BackfillProgress): Backfill {
  return {
    id,
    rule_id: ruleId,
    start_time: isoFromMicros(startTime),
    end_time: isoFromMicros(endTime),
    status: completedAt === null ? "running" : "completed",
    created_at: iso(createdAt),
    completed_at: completedAt === null ? null : iso(completedAt),
    parts_left: left,
  };
}

export function toWireFailure({ ruleId, runId, action, error, at, isFinal }: FailureRow): RuleLog {
  const status = isFinal ? "failed" : "pending";
  return {
    rule_id: ruleId,
    run_id: runId === ALL_RUNS ? null : runId,
    status,
    action,
    error,
    time: iso(at),
    will_retry: !isFinal,
  };
}

/** A run that the partition lists. `failure`: the last one, of a run that is tried again. */
export function toWireRuleRun(
  rule: RuleRow,
  { id, done, due }: RuleRunState,
  failure: FailureRow | undefined,
): RuleLog {
  return {
    rule_id: rule.id,
    run_id: id,
    status: due === null ? "done" : "pending",
    action: due === null ? null : (readActions(rule).find((action) => !done.includes(action.id))?.name ?? null),
    error: failure?.error ?? null,
    // A run that was just taken is due at once.
    time: due === null || due === 0 ? null : iso(due),
    will_retry: failure !== undefined,
  };
}

// The log of a rule: the runs that it has taken, by what became of them.

/** Days of the project, with their shards, that a page reads. */
const MAX_PARTS = 50;

/** A page of the log. Failures are in D1; which runs wait and which are done, the partitions know. */
export async function readLog(env: Env, rule: RuleRow, { status, ...wanted }: ListLogs) {
  const db = database(env.DB);
  if (status === undefined || status === "failed") {
    const isFinal = status && true;
    return (await listFailures(db, rule.id, { ...wanted, isFinal })).map(toWireFailure);
  }
  const { offset, limit } = wanted;
  const state = status === "pending" ? "due" : "done";
  const found: RuleRunState[] = [];
  for (const { day, shard } of await listParts(db, rule.id, state, MAX_PARTS)) {
    const left = offset + limit - found.length;
    if (left <= 0) break;
    const partition = tracePartition(env, rule.workspaceId, { projectId: rule.projectId, day, shard });
    found.push(...(await partition.listForRule({ rule: rule.id, state, limit: left })));
  }
  const page = found.slice(offset);
  const failures = await failuresOn(
    db,
    rule.id,
    page.map(({ id }) => id),
  );
  const byRun = new Map(failures.map((failure) => [failure.runId, failure]));
  return page.map((one) => toWireRuleRun(rule, one, byRun.get(one.id)));
}
