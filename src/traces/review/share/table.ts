import { integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

/** Links by which anyone may read one trace or one dataset. */
export const shares = sqliteTable(
  "shares",
  {
    /** SHA-256 of the token. The token is stored only encrypted, because it is shown again. */
    hash: text("hash").primaryKey(),
    sealed: text("sealed").notNull(),
    workspaceId: text("workspace_id").notNull(),
    kind: text("kind").$type<"run" | "dataset">().notNull(),
    /** The id of the run or dataset. */
    targetId: text("target_id").notNull(),
    /** Of a run: its project. */
    projectId: text("project_id"),
    createdAt: integer("created_at").notNull(),
    /** Milliseconds. Null for a link without an end. */
    expiresAt: integer("expires_at"),
  },
  (table) => [uniqueIndex("shares_target").on(table.workspaceId, table.kind, table.targetId)],
);
