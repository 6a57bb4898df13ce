import type { Json } from "../../../lib/json.ts";
import { isNotNull } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

/** Queues of runs and threads that people review. Times are milliseconds, unless another unit is named. */
export const annotationQueues = sqliteTable(
  "annotation_queues",
  {
    id: text("id").primaryKey(),
    workspaceId: text("workspace_id").notNull(),
    name: text("name").notNull(),
    description: text("description"),
    /** The dataset that reviewed runs are added to by default. */
    defaultDataset: text("default_dataset"),
    /** How many reviewers complete an item. */
    reviewers: integer("reviewers").notNull(),
    /** Minutes for which an item that a reviewer looks at is theirs. Null: it is not reserved. */
    reservationMinutes: integer("reservation_minutes"),
    instructions: text("instructions"),
    rubric: text("rubric", { mode: "json" }).$type<Json[]>().notNull(),
    metadata: text("metadata", { mode: "json" }).$type<Json>().notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [index("annotation_queues_workspace").on(table.workspaceId, table.createdAt, table.id)],
);

/** What is in a queue: a run, or a thread of a project. */
export const annotationItems = sqliteTable(
  "annotation_items",
  {
    id: text("id").primaryKey(),
    workspaceId: text("workspace_id").notNull(),
    queueId: text("queue_id").notNull(),
    projectId: text("project_id").notNull(),
    runId: text("run_id"),
    /** Of a run: its trace. */
    traceId: text("trace_id"),
    threadId: text("thread_id"),
    /** Of a run: its start, microseconds. It says which partition holds it. */
    startTime: integer("start_time"),
    addedAt: integer("added_at").notNull(),
    lastReviewedAt: integer("last_reviewed_at"),
    /** When enough reviewers had completed it. */
    completedAt: integer("completed_at"),
    /** The proposed example that it was made from, as clients name it. */
    sourceProposedExampleId: text("source_proposed_example_id"),
  },
  (table) => [
    uniqueIndex("annotation_items_run").on(table.queueId, table.runId).where(isNotNull(table.runId)),
    uniqueIndex("annotation_items_thread")
      .on(table.queueId, table.projectId, table.threadId)
      .where(isNotNull(table.threadId)),
    index("annotation_items_order").on(table.queueId, table.addedAt, table.id),
    index("annotation_items_project").on(table.workspaceId, table.projectId, table.traceId),
    index("annotation_items_of_run").on(table.workspaceId, table.runId),
  ],
);

/** What a reviewer did with an item. */
export const annotationReviews = sqliteTable(
  "annotation_reviews",
  {
    itemId: text("item_id").notNull(),
    reviewer: text("reviewer").notNull(),
    queueId: text("queue_id").notNull(),
    status: text("status").$type<"viewed" | "completed">().notNull(),
    at: integer("at").notNull(),
    /** Until when the item is reserved for the reviewer. */
    reservedUntil: integer("reserved_until"),
    /** The place that the reviewer gave the item among those that wait. */
    overrideAddedAt: integer("override_added_at"),
  },
  (table) => [
    primaryKey({ columns: [table.itemId, table.reviewer] }),
    index("annotation_reviews_queue").on(table.queueId),
  ],
);
