/** Annotation queues and their items on the wire. The page reads these types: this file imports no part of the server but shapes. */
import * as v from "valibot";
import { AnyObject, Count, Id, open, Time } from "../../../http/shapes.ts";

const text = v.nullable(v.string());

const time = v.nullable(Time);

export const Queue = v.pipe(
  v.object({
    id: Id,
    tenant_id: v.string(),
    name: v.string(),
    description: text,
    queue_type: v.literal("single"),
    default_dataset: text,
    num_reviewers_per_item: v.nullable(Count),
    enable_reservations: v.boolean(),
    reservation_minutes: v.nullable(Count),
    reviewer_access_mode: v.literal("any"),
    assigned_reviewers: v.array(v.string()),
    metadata: AnyObject,
    run_rule_id: v.null(),
    source_rule_id: v.null(),
    created_at: Time,
    updated_at: Time,
  }),
  v.title("AnnotationQueue"),
);
export type Queue = v.InferOutput<typeof Queue>;

const Config = v.object({
  id: v.string(),
  tenant_id: v.string(),
  feedback_key: v.string(),
  feedback_config: AnyObject,
  is_lower_score_better: v.nullable(v.boolean()),
  modified_at: Time,
});
export type Config = v.InferOutput<typeof Config>;

export const QueueWithRubric = v.object({
  ...Queue.entries,
  rubric_instructions: text,
  rubric_items: v.array(open({ feedback_config: v.nullable(Config) })),
});
export type QueueWithRubric = v.InferOutput<typeof QueueWithRubric>;

export const QueueItem = v.pipe(
  v.object({
    id: Id,
    queue_id: Id,
    item_type: v.picklist(["THREAD", "RUN"]),
    run_id: text,
    thread_id: text,
    project_id: v.string(),
    start_time: time,
    added_at: Time,
    last_reviewed_time: time,
    source_proposed_example_id: text,
  }),
  v.title("AnnotationQueueItem"),
);
export type QueueItem = v.InferOutput<typeof QueueItem>;

const Reviews = v.object({
  effective_added_at: Time,
  completed_by: v.array(v.unknown()),
  reserved_by: v.array(v.unknown()),
});
export type Reviews = v.InferOutput<typeof Reviews>;

export const ReviewedQueueItem = v.object({ ...QueueItem.entries, ...Reviews.entries });
export type ReviewedQueueItem = v.InferOutput<typeof ReviewedQueueItem>;

const { added_at, last_reviewed_time, source_proposed_example_id } = QueueItem.entries;

/** What a run in a queue has besides its own fields. */
export const QueueInfo = v.object({
  queue_run_id: Id,
  added_at,
  last_reviewed_time,
  source_proposed_example_id,
  ...Reviews.entries,
});
export type QueueInfo = v.InferOutput<typeof QueueInfo>;
