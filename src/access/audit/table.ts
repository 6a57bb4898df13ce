import { isNull } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

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
    /** Where the request came from; null where the platform does not say. */
    address: text("address"),
    userAgent: text("user_agent"),
    /** The entry's place in the chain of its workspace, from 1 on. Null: not chained yet. */
    seq: integer("seq"),
    /** The hash of the entry before. */
    prevHash: text("prev_hash"),
    /** SHA-256 over the entry and the hash of the one before. */
    hash: text("hash"),
  },
  (table) => [
    index("audit_log_workspace").on(table.workspaceId, table.at),
    // Two entries never follow the same one. The deployment's own entries are a chain, too.
    uniqueIndex("audit_log_chain").on(table.workspaceId, table.seq),
    uniqueIndex("audit_log_chain_deployment").on(table.seq).where(isNull(table.workspaceId)),
    index("audit_log_unchained").on(table.workspaceId).where(isNull(table.seq)),
  ],
);

/**
 * The last entry of each chain on each UTC day: what the day's root in the bucket says. A chain whose old end was deleted is
 * verified from a root.
 */
export const auditRoots = sqliteTable(
  "audit_roots",
  {
    /** Empty: the chain of the deployment's own entries. */
    workspaceId: text("workspace_id").notNull(),
    day: text("day").notNull(),
    seq: integer("seq").notNull(),
    hash: text("hash").notNull(),
    /** When it was written to the bucket, milliseconds since 1970. Null: not yet. */
    writtenAt: integer("written_at"),
  },
  (table) => [primaryKey({ columns: [table.workspaceId, table.day] })],
);
