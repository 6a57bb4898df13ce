import type { Json } from "../json.ts";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/**
 * Unused: the index of threads is in `ThreadIndex` objects (threads/search). The table stays for one more version, because 1.0.0
 * reads it after a rollback.
 */
export const threads = sqliteTable(
  "threads",
  {
    workspaceId: text("workspace_id").notNull(),
    id: text("id").notNull(),
    status: text("status").notNull(),
    metadata: text("metadata", { mode: "json" }).$type<Json>().notNull(),
    config: text("config", { mode: "json" }).$type<Json>().notNull(),
    /** The state when it is small. NULL when it is large: it is then read from the thread itself. */
    values: text("values", { mode: "json" }).$type<Json>(),
    hasValues: integer("has_values", { mode: "boolean" }).notNull(),
    interrupts: text("interrupts", { mode: "json" }).$type<Json>().notNull(),
    error: text("error", { mode: "json" }).$type<Json>(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
    stateUpdatedAt: integer("state_updated_at").notNull(),
    /** Grows with each projection of one thread, so that a late write never covers a newer one. */
    revision: integer("revision").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.workspaceId, table.id] }),
    index("threads_created").on(table.workspaceId, table.createdAt),
    index("threads_updated").on(table.workspaceId, table.updatedAt),
  ],
);
