/** Rules, their backfills and their log on the wire. The page reads these types: this file imports no part of the server but shapes. */
import * as v from "valibot";
import { AnyObject, Count, Id, Time } from "../../http/shapes.ts";

export const LOG_STATUS = ["pending", "done", "failed"] as const;

const text = v.nullable(v.string());

const time = v.nullable(Time);

/** What became of the runs that the rule has taken. */
const Stats = v.object({ taken: Count, waiting: Count, done: Count, failed: Count, cost: v.number() });

export const Rule = v.pipe(
  v.object({
    id: Id,
    tenant_id: v.string(),
    display_name: v.string(),
    is_enabled: v.boolean(),
    /** Why the rule cannot do all that it should. Null: it can. */
    error: text,
    session_id: Id,
    session_name: text,
    dataset_id: v.null(),
    dataset_name: v.null(),
    sampling_rate: v.number(),
    filter: text,
    trace_filter: text,
    tree_filter: text,
    add_to_annotation_queue_id: text,
    add_to_annotation_queue_name: text,
    add_to_dataset_id: text,
    add_to_dataset_name: text,
    add_to_dataset_prefer_correction: v.boolean(),
    evaluators: v.nullable(v.array(AnyObject)),
    code_evaluators: v.nullable(v.array(v.object({ code: v.string(), language: v.string() }))),
    webhooks: v.nullable(v.array(v.object({ url: v.string(), headers: v.nullable(v.record(v.string(), v.string())) }))),
    alerts: v.null(),
    corrections_dataset_id: v.null(),
    use_corrections_dataset: v.boolean(),
    num_few_shot_examples: v.null(),
    evaluator_id: v.null(),
    evaluator_version: v.number(),
    extend_only: v.boolean(),
    extend_evaluator_trace_retention: v.boolean(),
    extend_dataset_trace_retention: v.boolean(),
    extend_annotation_queue_trace_retention: v.boolean(),
    extend_webhook_trace_retention: v.boolean(),
    include_extended_stats: v.boolean(),
    transient: v.boolean(),
    group_by: v.null(),
    backfill_from: time,
    backfill_id: v.nullable(Id),
    backfill_status: text,
    backfill_progress: v.nullable(v.number()),
    backfill_error: v.null(),
    backfill_completed_at: time,
    created_at: Time,
    updated_at: Time,
    stats: Stats,
  }),
  v.title("RunRule"),
);
export type Rule = v.InferOutput<typeof Rule>;

export const Backfill = v.pipe(
  v.object({
    id: Id,
    rule_id: Id,
    start_time: Time,
    end_time: Time,
    status: v.picklist(["running", "completed"]),
    created_at: Time,
    completed_at: time,
    /** Days of the project that are still to be read; a large day has several parts. */
    parts_left: Count,
  }),
  v.title("RunRuleBackfill"),
);
export type Backfill = v.InferOutput<typeof Backfill>;

export const RuleLog = v.pipe(
  v.object({
    rule_id: Id,
    /** Null: the rule can take no runs. */
    run_id: text,
    status: v.picklist(LOG_STATUS),
    /** What has failed, or comes next. Null: all is done. */
    action: text,
    error: text,
    /** Of the failure; of a run that waits for its turn, when that is. */
    time,
    /** Whether it is tried again. */
    will_retry: v.boolean(),
  }),
  v.title("RunRuleLog"),
);
export type RuleLog = v.InferOutput<typeof RuleLog>;
