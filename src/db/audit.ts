import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** Sign-ins, and changes of keys, clients, grants, destinations and exports: who, when and from where. Append-only, no secrets. */
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
    /** Where the request came from; null in entries of earlier versions. */
    address: text("address"),
    userAgent: text("user_agent"),
  },
  (table) => [index("audit_log_workspace").on(table.workspaceId, table.at)],
);
