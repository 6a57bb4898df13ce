import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

/** Where exports go. Only the ciphertext of credentials is kept (src/lib/crypto.ts). */
export const exportDestinations = sqliteTable(
  "export_destinations",
  {
    id: text("id").primaryKey(),
    workspaceId: text("workspace_id").notNull(),
    type: text("type").$type<"s3" | "r2">().notNull(),
    displayName: text("display_name").notNull(),
    config: text("config", { mode: "json" }).$type<DestinationConfig>().notNull(),
    credentials: text("credentials"),
    /** The names of the credentials that are set: all that is ever shown of them. */
    credentialsKeys: text("credentials_keys", { mode: "json" }).$type<string[]>().notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [index("export_destinations_workspace").on(table.workspaceId, table.createdAt)],
);

/** A destination's configuration as on the wire (specification 2.4). */
export interface DestinationConfig {
  bucket_name: string;
  prefix: string;
  region: string | null;
  endpoint_url: string | null;
  include_bucket_in_prefix: boolean;
  config_kwargs_s3: {
    addressing_style?: "auto" | "virtual" | "path";
    use_accelerate_endpoint?: boolean;
  } | null;
  /** Arguments of PutObject, by their AWS names. */
  s3_additional_kwargs: Record<string, string> | null;
}

export type ExportStatus = "CREATED" | "RUNNING" | "COMPLETED" | "FAILED" | "CANCELLED" | "TIMEDOUT";

/** Export jobs. With `intervalHours` a row is a schedule, which spawns jobs and exports nothing itself. */
export const bulkExports = sqliteTable(
  "bulk_exports",
  {
    id: text("id").primaryKey(),
    workspaceId: text("workspace_id").notNull(),
    destinationId: text("destination_id").notNull(),
    sessionId: text("session_id"),
    allExperiments: integer("all_experiments", { mode: "boolean" }).notNull(),
    /** Half-open window of start_time in microseconds, as stored runs have it; a schedule has no end. */
    startTime: integer("start_time").notNull(),
    endTime: integer("end_time"),
    filter: text("filter"),
    formatVersion: text("format_version").notNull(),
    compression: text("compression").$type<"none" | "gzip" | "snappy" | "zstandard">().notNull(),
    intervalHours: integer("interval_hours"),
    exportFields: text("export_fields", { mode: "json" }).$type<string[]>(),
    status: text("status").$type<ExportStatus>().notNull(),
    /** Why the export failed. */
    error: text("error"),
    sourceExportId: text("source_export_id"),
    /** The windows that a schedule has spawned: the next is this plus one. Of a spawned export: the number of its window. */
    spawned: integer("spawned").notNull().default(0),
    /** When its export runs were laid down; null until the planner has been here. Milliseconds, as all that follow. */
    plannedAt: integer("planned_at"),
    /** Failed attempts of planning and of writing the manifest. */
    retries: integer("retries").notNull().default(0),
    /** Before this the planner and the manifest wait; also how the sweep detects a lost message. */
    nextAttemptAt: integer("next_attempt_at").notNull().default(0),
    startedAt: integer("started_at"),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
    finishedAt: integer("finished_at"),
    /** For a window whose export has not completed: the later export of its schedule whose manifest names what was deleted in it. */
    deletionsBy: text("deletions_by"),
  },
  (table) => [
    index("bulk_exports_workspace").on(table.workspaceId, table.createdAt),
    index("bulk_exports_status").on(table.status),
    index("bulk_exports_destination").on(table.destinationId),
    uniqueIndex("bulk_exports_window")
      .on(table.sourceExportId, table.startTime)
      .where(sql`source_export_id IS NOT NULL`),
  ],
);

/** One file of an export run: written, complete and counted. */
export interface ExportedFile {
  /** Bucket and key. */
  location: string;
  key: string;
  rows: number;
  bytes: number;
  sha256: string;
  shard: number;
}

/** A file that is being written: recorded before anything is sent, so that a later owner can remove it. */
export interface PendingUpload {
  file_path: string;
  upload_id: string | null;
  target_cursor: string | null;
  rows_count: number | null;
}

/** How far a shard has been read, in the order of start_time and id. */
export interface ExportCursor {
  start_time: number;
  id: string;
  /** The number of the shard's last change before the last page was read. */
  change: number;
  /** The runs whose start_time moved across the cursor, by id: whether they are in `files`. */
  moved?: Record<string, boolean>;
}

export type PerShard = Record<string, number>;

/** A window of start_time, half-open, microseconds, with the last change of each shard that an export saw of it. */
export interface SeenWindow {
  startTime: number;
  endTime: number;
  seen: PerShard;
}

/** Export runs: one project and UTC day of an export. The lease, its epoch and the cursor are the ledger of the work. */
export const exportRuns = sqliteTable(
  "export_runs",
  {
    exportId: text("export_id").notNull(),
    id: text("id").notNull().unique(),
    workspaceId: text("workspace_id").notNull(),
    projectId: text("project_id").notNull(),
    /** YYYY-MM-DD */
    day: text("day").notNull(),
    /** Whether it holds the runs of earlier windows of its schedule that came or changed since they were exported. */
    late: integer("late", { mode: "boolean" }).notNull().default(false),
    /** Half-open, microseconds. */
    startTime: integer("start_time").notNull(),
    endTime: integer("end_time").notNull(),
    status: text("status").$type<ExportStatus>().notNull(),
    retryNumber: integer("retry_number").notNull().default(0),
    /** Attempts that have failed since the last file was committed. */
    failedAttempts: integer("failed_attempts").notNull().default(0),
    /** `retry_0`, `retry_1`, …: what went wrong, the newest. */
    errors: text("errors", { mode: "json" }).$type<Record<string, string>>(),
    /** The shard that is read. Everything of the shards before it is in `files`. */
    shard: integer("shard").notNull().default(0),
    /** The number of the last change of each shard before it was read. Null: not read, or not noted. */
    seen: text("seen", { mode: "json" }).$type<PerShard>(),
    /** Of a late run: the windows of the day. Only what has changed in a window after what was seen of it is exported. */
    since: text("since", { mode: "json" }).$type<SeenWindow[]>(),
    /** Everything of the shard up to and including this position is in `files`. */
    cursor: text("cursor", { mode: "json" }).$type<ExportCursor>(),
    files: text("files", { mode: "json" }).$type<ExportedFile[]>().notNull().default([]),
    rows: integer("rows").notNull().default(0),
    bytes: integer("bytes").notNull().default(0),
    pending: text("pending", { mode: "json" }).$type<PendingUpload>(),
    /** Fences late owners: every claim adds one, every write names its own. */
    epoch: integer("epoch").notNull().default(0),
    leaseUntil: integer("lease_until"),
    /** When a message for it was sent; null when it waits for its turn. */
    sentAt: integer("sent_at"),
    nextAttemptAt: integer("next_attempt_at").notNull().default(0),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
    finishedAt: integer("finished_at"),
  },
  (table) => [
    primaryKey({ columns: [table.exportId, table.projectId, table.day, table.late] }),
    index("export_runs_export").on(table.exportId, table.status, table.sentAt),
    index("export_runs_status").on(table.status, table.sentAt),
  ],
);
