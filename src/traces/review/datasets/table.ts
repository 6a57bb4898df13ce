import type { Json } from "../../../lib/json.ts";
import { isNull } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

/** Datasets. Times are milliseconds since the epoch, as in all tables of traces. */
export const datasets = sqliteTable(
  "datasets",
  {
    id: text("id").primaryKey(),
    workspaceId: text("workspace_id").notNull(),
    name: text("name").notNull(),
    description: text("description"),
    dataType: text("data_type").notNull(),
    metadata: text("metadata", { mode: "json" }).$type<Json>().notNull().default({}),
    createdAt: integer("created_at").notNull(),
    modifiedAt: integer("modified_at").notNull(),
    /** JSON Schemas that clients store with a dataset. They are not enforced. */
    inputsSchema: text("inputs_schema", { mode: "json" }).$type<Json>(),
    outputsSchema: text("outputs_schema", { mode: "json" }).$type<Json>(),
    /** The time of the latest version of its examples. 0 when there is none. */
    examplesAt: integer("examples_at").notNull().default(0),
  },
  (table) => [uniqueIndex("datasets_name").on(table.workspaceId, table.name)],
);

/** A file of an example. Its content is in R2 under `hash`. */
export interface ExampleAttachment {
  name: string;
  type: string;
  bytes: number;
  hash: string;
}

/**
 * The states of examples. Each state is valid from `since` until `until`, or now when `until` is null. A dataset is read as of
 * a time by the states that are valid then.
 */
export const examples = sqliteTable(
  "examples",
  {
    workspaceId: text("workspace_id").notNull(),
    datasetId: text("dataset_id").notNull(),
    id: text("id").notNull(),
    since: integer("since").notNull(),
    until: integer("until"),
    createdAt: integer("created_at").notNull(),
    name: text("name"),
    /** JSON texts. A body past the limit is in R2, and its column is null. */
    inputs: text("inputs"),
    outputs: text("outputs"),
    /** SHA-256 of a body in R2, hex. */
    inputsHash: text("inputs_hash"),
    outputsHash: text("outputs_hash"),
    metadata: text("metadata", { mode: "json" }).$type<Json>().notNull(),
    attachments: text("attachments", { mode: "json" }).$type<ExampleAttachment[]>().notNull(),
    sourceRunId: text("source_run_id"),
  },
  (table) => [
    primaryKey({ columns: [table.workspaceId, table.id, table.since] }),
    uniqueIndex("examples_current").on(table.workspaceId, table.id).where(isNull(table.until)),
    index("examples_dataset").on(table.workspaceId, table.datasetId, table.createdAt, table.id),
  ],
);

/** The times at which examples of a dataset changed. */
export const datasetVersions = sqliteTable(
  "dataset_versions",
  {
    workspaceId: text("workspace_id").notNull(),
    datasetId: text("dataset_id").notNull(),
    asOf: integer("as_of").notNull(),
  },
  (table) => [primaryKey({ columns: [table.workspaceId, table.datasetId, table.asOf] })],
);

/** Names of versions. */
export const datasetTags = sqliteTable(
  "dataset_tags",
  {
    workspaceId: text("workspace_id").notNull(),
    datasetId: text("dataset_id").notNull(),
    tag: text("tag").notNull(),
    asOf: integer("as_of").notNull(),
  },
  (table) => [primaryKey({ columns: [table.workspaceId, table.datasetId, table.tag] })],
);

/** Comparisons of experiments that clients created, for feedback that compares runs. */
export const comparativeExperiments = sqliteTable(
  "comparative_experiments",
  {
    id: text("id").primaryKey(),
    workspaceId: text("workspace_id").notNull(),
    name: text("name"),
    description: text("description"),
    datasetId: text("dataset_id").notNull(),
    experimentIds: text("experiment_ids", { mode: "json" }).$type<string[]>().notNull(),
    extra: text("extra", { mode: "json" }).$type<Json>().notNull(),
    createdAt: integer("created_at").notNull(),
    modifiedAt: integer("modified_at").notNull(),
  },
  (table) => [index("comparative_experiments_dataset").on(table.workspaceId, table.datasetId)],
);
