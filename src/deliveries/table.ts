import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Json } from "../lib/json.ts";
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

/** The state of a receiver of an event. */
export interface ReceiverState {
  id: string;
  /** `pending`: it is to be told. `cancelled`: its owner tells it no more. */
  state: "pending" | "delivered" | "failed" | "cancelled";
  /** That of the last attempt. */
  error: string | null;
  /** When the last attempt was made, milliseconds. */
  at: number | null;
}

/** Events that receivers are told of, with what is told. Times are milliseconds. */
export const deliveryEvents = sqliteTable(
  "delivery_events",
  {
    id: text("id").primaryKey(),
    workspaceId: text("workspace_id").notNull(),
    /** Whose event it is: the id of an alert. */
    owner: text("owner").notNull(),
    /** The content of the event, as it was then. */
    event: text("event", { mode: "json" }).$type<Json>().notNull(),
    at: integer("at").notNull(),
    receivers: text("receivers", { mode: "json" }).$type<ReceiverState[]>().notNull(),
    /** Those of the receivers that are pending. */
    attempts: integer("attempts").notNull(),
    /** When the next attempt is due; null when there is none. */
    nextAt: integer("next_at"),
  },
  (table) => [
    index("delivery_events_due").on(table.nextAt),
    index("delivery_events_owner").on(table.owner, table.at),
    index("delivery_events_at").on(table.at),
  ],
);
