import { sql } from "drizzle-orm";
import type { RulePause } from "../../traces/rpc.ts";
import { index, integer, primaryKey, real, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** Rules on the runs of a project: which runs, and what is done with each. Times are milliseconds, unless another unit is named. */
export const runRules = sqliteTable(
  "run_rules",
  {
    id: text("id").primaryKey(),
    workspaceId: text("workspace_id").notNull(),
    projectId: text("project_id").notNull(),
    name: text("name").notNull(),
    filter: text("filter"),
    traceFilter: text("trace_filter"),
    treeFilter: text("tree_filter"),
    samplingRate: real("sampling_rate").notNull(),
    isEnabled: integer("is_enabled", { mode: "boolean" }).notNull(),
    actions: text("actions", { mode: "json" }).$type<RuleActions>().notNull(),
    /** Headers of webhooks and keys of models, sealed. Null: there are none. */
    secrets: text("secrets"),
    /** Runs that changed before are not looked at, but by a backfill. */
    since: integer("since").notNull(),
    /** Nor are those that changed while the rule was paused. The last pause has no end while it lasts. */
    pauses: text("pauses", { mode: "json" }).$type<RulePause[]>().notNull().default([]),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [index("run_rules_workspace").on(table.workspaceId, table.createdAt)],
);

/** The members of the API by which a rule extends the retention of traces: by itself, or with one of its actions. */
export const EXTENSIONS = [
  "extend_only",
  "extend_evaluator_trace_retention",
  "extend_dataset_trace_retention",
  "extend_annotation_queue_trace_retention",
  "extend_webhook_trace_retention",
] as const;
export type Extension = (typeof EXTENSIONS)[number];

/** What is done with a run, in the order of these members. */
export interface RuleActions {
  /** Those that are set. */
  extend?: Extension[];
  queueId?: string;
  datasetId?: string;
  /** Names of evaluators of the project's code. */
  code?: string[];
  judges?: RuleJudge[];
  /** Their headers are among the secrets. */
  webhooks?: { id: string; url: string }[];
}

/** A model, or an assistant of the deployment, that answers with one value for each member of a schema. */
export interface RuleJudge {
  /** It stays when the list gets another order. A judge with another prompt has another one. */
  id: string;
  prompt: [role: string, text: string][];
  format: "f-string" | "mustache";
  /** Names in the prompt to paths in the run. */
  variables: Record<string, string>;
  /** A JSON Schema of an object, whose members are keys of feedback. */
  schema: Record<string, unknown>;
  model: RuleJudgeModel;
}

export type RuleJudgeModel =
  | { provider: "workers-ai"; model: string; temperature?: number }
  | { provider: "openai"; model: string; base_url?: string; temperature?: number }
  | { provider: "assistant"; assistant_id: string };

/** How far a rule has come in a partition, as the partition counted last. */
export const ruleParts = sqliteTable(
  "rule_parts",
  {
    ruleId: text("rule_id").notNull(),
    day: text("day").notNull(),
    shard: integer("shard").notNull(),
    /** The number of the last change that the rule has seen. */
    change: integer("change").notNull(),
    taken: integer("taken").notNull(),
    done: integer("done").notNull(),
    failed: integer("failed").notNull(),
    /** US dollars. */
    cost: real("cost").notNull(),
    /** When work on it was last noted; decides when a lost message is sent again. */
    touchedAt: integer("touched_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.ruleId, table.day, table.shard] }),
    /** With runs that wait. */
    index("rule_parts_waiting")
      .on(table.touchedAt)
      .where(sql`${table.taken} > ${table.done} + ${table.failed}`),
  ],
);

/** Requests to apply a rule to the runs that started in a window of time. */
export const ruleBackfills = sqliteTable(
  "rule_backfills",
  {
    id: text("id").primaryKey(),
    ruleId: text("rule_id").notNull(),
    /** Microseconds. */
    startTime: integer("start_time").notNull(),
    endTime: integer("end_time").notNull(),
    createdAt: integer("created_at").notNull(),
    touchedAt: integer("touched_at").notNull(),
    completedAt: integer("completed_at"),
  },
  (table) => [index("rule_backfills_rule").on(table.ruleId, table.createdAt)],
);

/** The partitions that a backfill has still to read. */
export const ruleBackfillParts = sqliteTable(
  "rule_backfill_parts",
  {
    backfillId: text("backfill_id").notNull(),
    day: text("day").notNull(),
    shard: integer("shard").notNull(),
  },
  (table) => [primaryKey({ columns: [table.backfillId, table.day, table.shard] })],
);

/** Runs on which a rule has failed. */
export const ruleFailures = sqliteTable(
  "rule_failures",
  {
    ruleId: text("rule_id").notNull(),
    runId: text("run_id").notNull(),
    /** Empty: it is a failure of the rule itself. */
    traceId: text("trace_id").notNull().default(""),
    action: text("action").notNull(),
    error: text("error").notNull(),
    at: integer("at").notNull(),
    /** False: it will be tried again. */
    isFinal: integer("is_final", { mode: "boolean" }).notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.ruleId, table.runId] }),
    index("rule_failures_time").on(table.ruleId, table.at),
    index("rule_failures_at").on(table.at),
  ],
);
