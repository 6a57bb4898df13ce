/** Annotation queues and their items as the platform calls them. */
import { jsonList } from "../../../lib/json.ts";
import type { ConfigRow } from "../feedback/store.ts";
import { isoFromMicros } from "../../time.ts";
import type { ItemRow, ReviewedItem } from "./item-store.ts";
import type { QueueRow } from "./store.ts";
import type { Config, Queue, QueueInfo, QueueItem, QueueWithRubric, Reviews, ReviewedQueueItem } from "./wire.ts";

export { Queue, QueueWithRubric, QueueItem, ReviewedQueueItem, QueueInfo } from "./wire.ts";

const iso = (millis: number) => new Date(millis).toISOString();
const isoOrNull = (millis: number | null) => (millis === null ? null : iso(millis));

export function toWireQueue(row: QueueRow): Queue {
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
export function toWireRubric(row: QueueRow, configs: ConfigRow[]): QueueWithRubric {
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

function toWireConfig({ workspaceId, key, config, isLowerScoreBetter, modifiedAt }: ConfigRow): Config {
  return {
    id: key,
    tenant_id: workspaceId,
    feedback_key: key,
    feedback_config: { ...config },
    is_lower_score_better: isLowerScoreBetter,
    modified_at: iso(modifiedAt),
  };
}

export function toWireItem(row: ItemRow): QueueItem {
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

export function toWireReviewedItem(row: ReviewedItem): ReviewedQueueItem {
  return { ...toWireItem(row), ...toWireReviews(row) };
}

export function toWireQueueInfo(row: ReviewedItem): QueueInfo {
  const { added_at, last_reviewed_time, source_proposed_example_id } = toWireItem(row);
  return { queue_run_id: row.id, added_at, last_reviewed_time, source_proposed_example_id, ...toWireReviews(row) };
}

function toWireReviews({ effectiveAddedAt, completedBy, reservedBy }: ReviewedItem): Reviews {
  return {
    effective_added_at: iso(effectiveAddedAt),
    completed_by: jsonList(completedBy) ?? [],
    reserved_by: jsonList(reservedBy) ?? [],
  };
}
