import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

/** Tracing projects (`session` on the wire). One with `referenceDatasetId` is an experiment. */
export const projects = sqliteTable(
  "projects",
  {
    id: text("id").primaryKey(),
    workspaceId: text("workspace_id").notNull(),
    name: text("name").notNull(),
    description: text("description"),
    referenceDatasetId: text("reference_dataset_id"),
    defaultDatasetId: text("default_dataset_id"),
    /** How long its runs are kept: `longlived` or `shortlived`. */
    traceTier: text("trace_tier").$type<TraceTier>().notNull(),
    /** Days that its runs are kept, instead of those of the tier. */
    retentionDays: integer("retention_days"),
    /** While set, nothing of the project is deleted: no expiry, no deletion by request. */
    legalHold: integer("legal_hold", { mode: "boolean" }).notNull().default(false),
    extra: text("extra", { mode: "json" }).$type<Record<string, unknown>>().notNull().default({}),
    /** Milliseconds since the epoch, as every time of these tables. */
    startTime: integer("start_time").notNull(),
    endTime: integer("end_time"),
  },
  (table) => [
    uniqueIndex("projects_name").on(table.workspaceId, table.name),
    index("projects_dataset").on(table.workspaceId, table.referenceDatasetId),
  ],
);

export type TraceTier = "longlived" | "shortlived";

/** Which days and shards of a project hold runs: a projection of what each TracePartition counted last. */
export const tracePartitions = sqliteTable(
  "trace_partitions",
  {
    workspaceId: text("workspace_id").notNull(),
    projectId: text("project_id").notNull(),
    /** UTC day of the runs' start_time, YYYY-MM-DD. */
    day: text("day").notNull(),
    /** A day has one partition, shard 0, until it is too large for one (traces/locate.ts). */
    shard: integer("shard").notNull().default(0),
    rows: integer("rows").notNull(),
    bytes: integer("bytes").notNull(),
    /** start_time of the newest run, milliseconds. */
    lastRunStartTime: integer("last_run_start_time").notNull(),
    /** The number of the last change: a partition numbers the changes of its runs. */
    changes: integer("changes").notNull().default(0),
  },
  (table) => [
    primaryKey({ columns: [table.workspaceId, table.projectId, table.day, table.shard] }),
    index("trace_partitions_day").on(table.workspaceId, table.day),
    /** What has changed of a project: the sweep of rules reads it once a minute. */
    index("trace_partitions_changes").on(table.workspaceId, table.projectId, table.changes),
  ],
);

/** Traces that were deleted by request: what readers of exports have to leave out. */
export const traceDeletions = sqliteTable(
  "trace_deletions",
  {
    workspaceId: text("workspace_id").notNull(),
    projectId: text("project_id").notNull(),
    traceId: text("trace_id").notNull(),
    deletedAt: integer("deleted_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.workspaceId, table.projectId, table.traceId] }),
    index("trace_deletions_time").on(table.workspaceId, table.projectId, table.deletedAt),
  ],
);
