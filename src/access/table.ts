import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** A tenant: everything else belongs to exactly one. `X-Tenant-Id` on the wire. */
export const workspaces = sqliteTable("workspaces", {
  id: text("id").primaryKey(),
  name: text("name").notNull(),
  /** JSON: settings a deployment may change, such as whether the plan includes exports. */
  settings: text("settings", { mode: "json" }).$type<WorkspaceSettings>().notNull().default({}),
  createdAt: integer("created_at").notNull(),
});

export interface WorkspaceSettings {
  /** False refuses bulk exports with 403; absent means the plan includes them. */
  exports?: boolean;
  /** The rules by which traces are masked (traces/masking/rules.ts). */
  masking?: unknown;
}

/** How a key's grant ended: it was taken back, its person's key expired, or all of its tokens did. */
export type KeyEnd = "grant_revoked" | "grant_expired" | "grant_lapsed";

/** API keys: only the SHA-256 of the key is kept. */
export const apiKeys = sqliteTable(
  "api_keys",
  {
    id: text("id").primaryKey(),
    workspaceId: text("workspace_id")
      .notNull()
      .references(() => workspaces.id),
    name: text("name").notNull(),
    hash: text("hash").notNull().unique(),
    /** The first characters, so that people can distinguish their keys. */
    hint: text("hint").notNull(),
    scopes: text("scopes", { mode: "json" }).$type<string[]>().notNull(),
    /** The OAuth grant whose token made the key: the key ends with it. Null: made with a key of a person. */
    grantId: text("grant_id"),
    createdAt: integer("created_at").notNull(),
    /** When the key stops working, milliseconds since 1970. Null: never. */
    expiresAt: integer("expires_at"),
    /** When the key was last used, with an hour's precision. Null: never, or before this column was there. */
    lastUsedAt: integer("last_used_at"),
    /** The networks (CIDR) from which the key works. Null: any. */
    allowedIps: text("allowed_ips", { mode: "json" }).$type<string[]>(),
    /** Why it ended at `expires_at` with its grant. Null: it did not end with its grant. */
    endReason: text("end_reason").$type<KeyEnd>(),
    /** The key that replaced it when it was rolled. */
    successorId: text("successor_id"),
    /** What of its scopes it may use: a built-in role, or one of `roles`. Null: all of them. */
    role: text("role"),
  },
  (table) => [index("api_keys_workspace").on(table.workspaceId)],
);

/** A role that a workspace has made: a set of permissions with a name. */
export const roles = sqliteTable(
  "roles",
  {
    workspaceId: text("workspace_id")
      .notNull()
      .references(() => workspaces.id),
    name: text("name").notNull(),
    permissions: text("permissions", { mode: "json" }).$type<string[]>().notNull(),
    modifiedAt: integer("modified_at").notNull(),
  },
  (table) => [primaryKey({ columns: [table.workspaceId, table.name] })],
);
