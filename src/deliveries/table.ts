import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { workspaces } from "../access/table.ts";

/** The secrets that sign a workspace's webhooks. Several are valid while a rotation overlaps. */
export const webhookSecrets = sqliteTable(
  "webhook_secrets",
  {
    id: text("id").primaryKey(),
    workspaceId: text("workspace_id")
      .notNull()
      .references(() => workspaces.id),
    /** The secret, encrypted: signing needs it again. */
    sealed: text("sealed").notNull(),
    /** The first characters, so that people can distinguish secrets. */
    hint: text("hint").notNull(),
    createdAt: integer("created_at").notNull(),
    /** When the secret stops signing, milliseconds since 1970. Null: until the next rotation. */
    expiresAt: integer("expires_at"),
  },
  (table) => [
    index("webhook_secrets_workspace").on(table.workspaceId),
    index("webhook_secrets_expiry").on(table.expiresAt),
  ],
);
