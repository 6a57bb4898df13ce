import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** Who changed keys, clients, grants and destinations, and when. Append-only; never holds a secret. */
export const auditLog = sqliteTable(
  "audit_log",
  {
    id: text("id").primaryKey(),
    /** Null: about the deployment and no workspace, such as a client that registered itself. */
    workspaceId: text("workspace_id"),
    at: integer("at").notNull(),
    actorKind: text("actor_kind").notNull(),
    actorId: text("actor_id").notNull(),
    action: text("action").notNull(),
    targetId: text("target_id").notNull(),
    detail: text("detail", { mode: "json" }).$type<Record<string, unknown>>().notNull(),
  },
  (table) => [index("audit_log_workspace").on(table.workspaceId, table.at)],
);
