import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** Which partition holds a feedback, with what lists of feedback select by. */
export const feedbackPlaces = sqliteTable(
  "feedback_places",
  {
    workspaceId: text("workspace_id").notNull(),
    id: text("id").notNull(),
    projectId: text("project_id").notNull(),
    day: text("day").notNull(),
    shard: integer("shard").notNull().default(0),
    runId: text("run_id"),
    key: text("key").notNull(),
    source: text("source").notNull(),
    /** Who gave it, as its source says. */
    userId: text("user_id"),
    hasScore: integer("has_score", { mode: "boolean" }).notNull(),
    hasComment: integer("has_comment", { mode: "boolean" }).notNull(),
    createdAt: integer("created_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.workspaceId, table.id] }),
    index("feedback_places_run").on(table.workspaceId, table.runId),
    index("feedback_places_project").on(table.workspaceId, table.projectId, table.createdAt),
  ],
);

/** Links by which anyone may give one key's feedback on one run, until they expire. */
export const feedbackTokens = sqliteTable(
  "feedback_tokens",
  {
    /** SHA-256 of the token. The token itself is stored only encrypted, so that the links can be listed again. */
    hash: text("hash").primaryKey(),
    sealed: text("sealed").notNull(),
    workspaceId: text("workspace_id").notNull(),
    runId: text("run_id").notNull(),
    key: text("key").notNull(),
    config: text("config", { mode: "json" }).$type<FeedbackConfig>(),
    /** Where the run's trace will be, when the token was made before the trace came: its project and start, milliseconds. */
    projectId: text("project_id"),
    startTime: integer("start_time"),
    expiresAt: integer("expires_at").notNull(),
  },
  (table) => [
    index("feedback_tokens_run").on(table.workspaceId, table.runId),
    index("feedback_tokens_expires").on(table.expiresAt),
  ],
);

/** What feedback of one key may be. */
export interface FeedbackConfig {
  type: "continuous" | "categorical" | "freeform";
  min?: number | null;
  max?: number | null;
  categories?: { value: number; label?: string | null }[] | null;
}

export const feedbackConfigs = sqliteTable(
  "feedback_configs",
  {
    workspaceId: text("workspace_id").notNull(),
    key: text("key").notNull(),
    config: text("config", { mode: "json" }).$type<FeedbackConfig>().notNull(),
    isLowerScoreBetter: integer("is_lower_score_better", { mode: "boolean" }),
    modifiedAt: integer("modified_at").notNull(),
  },
  (table) => [primaryKey({ columns: [table.workspaceId, table.key] })],
);
