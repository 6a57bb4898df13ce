import { integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { workspaces } from "../access/table.ts";

/** The data keys of workspaces that encrypt what they store. The newest encrypts, the others decrypt. */
export const encryptionKeys = sqliteTable(
  "encryption_keys",
  {
    id: text("id").primaryKey(),
    workspaceId: text("workspace_id")
      .notNull()
      .references(() => workspaces.id),
    /** The key, encrypted with ENCRYPTION_KEY (src/lib/crypto.ts). Null once it is destroyed. */
    wrapped: text("wrapped"),
    /** The number of the key in its workspace, from 1. */
    version: integer("version").notNull(),
    createdAt: integer("created_at").notNull(),
    destroyedAt: integer("destroyed_at"),
  },
  (table) => [uniqueIndex("encryption_keys_workspace").on(table.workspaceId, table.version)],
);
