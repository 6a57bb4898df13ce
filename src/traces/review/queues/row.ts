/** Annotation queues and their items as the platform calls them. */
import * as v from "valibot";
import { AnyObject, Count, Id, open, Time } from "../../../http/shapes.ts";
import { jsonList } from "../../../lib/json.ts";
import type { ConfigRow } from "../feedback/store.ts";
import { isoFromMicros } from "../../time.ts";
import type { ItemRow, ReviewedItem } from "./item-store.ts";
import type { QueueRow } from "./store.ts";

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

const Config = v.object({
  id: v.string(),
  tenant_id: v.string(),
  feedback_key: v.string(),
  feedback_config: AnyObject,
  is_lower_score_better: v.nullable(v.boolean()),
  modified_at: Time,
});
export const QueueWithRubric = v.object({
  ...Queue.entries,
  rubric_instructions: text,
  rubric_items: v.array(open({ feedback_config: v.nullable(Config) })),
});

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

const Reviews = v.object({
  effective_added_at: Time,
  completed_by: v.array(v.unknown()),
  reserved_by: v.array(v.unknown()),
});
export const ReviewedQueueItem = v.object({ ...QueueItem.entries, ...Reviews.entries });

const { added_at, last_reviewed_time, source_proposed_example_id } = QueueItem.entries;
/** What a run in a queue has besides its own fields. */
export const QueueInfo = v.object({
  queue_run_id: Id,
  added_at,
  last_reviewed_time,
  source_proposed_example_id,
  ...Reviews.entries,
});

const iso = (millis: number) => new Date(millis).toISOString();
const isoOrNull = (millis: number | null) => (millis === null ? null : iso(millis));

export function toWireQueue(row: QueueRow): v.InferOutput<typeof Queue> {
  return {
    id: row.id,
    tenant_id: row.workspaceId,
    name: row.name,
    description: row.description,
    queue_type: "single",
    default_dataset: row.defaultDataset,
    num_reviewers_per_item: row.reviewers,
    enable_reservations: row.reservationMinutes !== null,
    reservation_minutes: row.reservationMinutes,
    reviewer_access_mode: "any",
    assigned_reviewers: [],
    metadata: row.metadata,
    run_rule_id: null,
    source_rule_id: null,
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}

/** With the rubric, whose items have the configs of their keys. */
export function toWireRubric(row: QueueRow, configs: ConfigRow[]): v.InferOutput<typeof QueueWithRubric> {
  const byKey = new Map(configs.map((config) => [config.key, config]));
  return {
    ...toWireQueue(row),
    rubric_instructions: row.instructions,
    rubric_items: row.rubric.map((item) => {
      const config = byKey.get(String(item["feedback_key"]));
      return { ...item, feedback_config: config ? toWireConfig(config) : null };
    }),
  };
}

function toWireConfig({
  workspaceId,
  key,
  config,
  isLowerScoreBetter,
  modifiedAt,
}: ConfigRow): v.InferOutput<typeof Config> {
  return {
    id: key,
    tenant_id: workspaceId,
    feedback_key: key,
    feedback_config: { ...config },
    is_lower_score_better: isLowerScoreBetter,
    modified_at: iso(modifiedAt),
  };
}

export function toWireItem(row: ItemRow): v.InferOutput<typeof QueueItem> {
  return {
    id: row.id,
    queue_id: row.queueId,
    item_type: row.runId === null ? "THREAD" : "RUN",
    run_id: row.runId,
    thread_id: row.threadId,
    project_id: row.projectId,
    start_time: row.startTime === null ? null : isoFromMicros(row.startTime),
    added_at: iso(row.addedAt),
    last_reviewed_time: isoOrNull(row.lastReviewedAt),
    source_proposed_example_id: row.sourceProposedExampleId,
  };
}

export function toWireReviewedItem(row: ReviewedItem): v.InferOutput<typeof ReviewedQueueItem> {
  return { ...toWireItem(row), ...toWireReviews(row) };
}

export function toWireQueueInfo(row: ReviewedItem): v.InferOutput<typeof QueueInfo> {
  const { added_at, last_reviewed_time, source_proposed_example_id } = toWireItem(row);
  return { queue_run_id: row.id, added_at, last_reviewed_time, source_proposed_example_id, ...toWireReviews(row) };
}

function toWireReviews({ effectiveAddedAt, completedBy, reservedBy }: ReviewedItem): v.InferOutput<typeof Reviews> {
  return {
    effective_added_at: iso(effectiveAddedAt),
    completed_by: jsonList(completedBy) ?? [],
    reserved_by: jsonList(reservedBy) ?? [],
  };
}
