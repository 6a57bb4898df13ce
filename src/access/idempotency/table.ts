import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** Requests made with an `Idempotency-Key`, and their answers, for 24 hours. And ids of what was deleted with a thread (store.ts). */
export const idempotencyKeys = sqliteTable(
  "idempotency_keys",
  {
    workspaceId: text("workspace_id").notNull(),
    key: text("key").notNull(),
    /** SHA-256 of method, path and body: the same key must come with the same request. */
    fingerprint: text("fingerprint").notNull(),
    /** Null while the first request is being answered. */
    status: integer("status"),
    headers: text("headers", { mode: "json" }).$type<Record<string, string>>(),
    /** The answer's body, encrypted: it may show an API key. */
    body: text("body"),
    /** When it was claimed last, milliseconds since 1970. */
    createdAt: integer("created_at").notNull(),
    /** When it was first claimed within its 24 hours, milliseconds since 1970. */
    epoch: integer("epoch").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.workspaceId, table.key] }),
    index("idempotency_keys_created").on(table.createdAt),
  ],
);
