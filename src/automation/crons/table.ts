import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { exactJson } from "../../db/conditions.ts";

/** Runs that start by the clock. */
export const crons = sqliteTable(
  "crons",
  {
    id: text("id").primaryKey(),
    workspaceId: text("workspace_id").notNull(),
    assistantId: text("assistant_id").notNull(),
    /** Null: each firing gets a thread of its own. */
    threadId: text("thread_id"),
    schedule: text("schedule").notNull(),
    /** IANA name; null means UTC. */
    timezone: text("timezone"),
    endTime: integer("end_time"),
    /** When it fires next; null once there is no such time. */
    nextRunDate: integer("next_run_date"),
    enabled: integer("enabled", { mode: "boolean" }).notNull(),
    /** What becomes of a firing's own thread when its run has ended; null for a cron on a thread. */
    onRunCompleted: text("on_run_completed").$type<"delete" | "keep">(),
    /** The body of the runs it starts. */
    payload: exactJson("payload").notNull(),
    metadata: exactJson("metadata").notNull(),
    /** The identity of the user whose runs it starts; null: the workspace's. */
    userId: text("user_id"),
    /** That user as the deployment's `Auth` gave it, encrypted. */
    user: text("user"),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [
    index("crons_workspace").on(table.workspaceId, table.createdAt),
    index("crons_due").on(table.enabled, table.nextRunDate),
    index("crons_thread").on(table.workspaceId, table.threadId),
  ],
);

/** Every due time that was reached: the ledger that makes each fire exactly once. The queue is only a wake-up. */
export const cronFirings = sqliteTable(
  "cron_firings",
  {
    workspaceId: text("workspace_id").notNull(),
    cronId: text("cron_id").notNull(),
    due: integer("due").notNull(),
    state: text("state").$type<FiringState>().notNull(),
    /** When a message about it was last sent; decides when a lost one is sent again. */
    touchedAt: integer("touched_at").notNull(),
    /** Why its run could not be started, at the last attempt. */
    error: text("error"),
  },
  (table) => [
    primaryKey({ columns: [table.cronId, table.due] }),
    index("cron_firings_state").on(table.state, table.touchedAt),
  ],
);

/**
 * due -> started or followed -> ended or failed; due -> refused when the run cannot be started. Both middle states last until
 * the run has ended. After "started" its own thread is deleted, after "followed" the thread stays. "failed" means that the
 * run ended with an error or a timeout.
 */
export type FiringState = "due" | "started" | "followed" | "ended" | "failed" | "refused";
