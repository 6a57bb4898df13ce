import { index, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { exactJson } from "../../db/conditions.ts";

/** Items of the Store. `text` feeds the full-text index `store_text`, which triggers keep (migration `store_text`). */
export const storeItems = sqliteTable(
  "store_items",
  {
    id: integer("id").primaryKey({ autoIncrement: true }),
    workspaceId: text("workspace_id").notNull(),
    /** The labels, each followed by a dot, so that a prefix of labels is a prefix of the text. */
    namespace: text("namespace").notNull(),
    key: text("key").notNull(),
    value: exactJson("value").notNull(),
    /** What a text query searches; null when the item is not indexed. */
    text: text("text"),
    ttlMinutes: integer("ttl_minutes"),
    expiresAt: integer("expires_at"),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [
    uniqueIndex("store_items_key").on(table.workspaceId, table.namespace, table.key),
    index("store_items_expiry").on(table.expiresAt),
  ],
);

/** Embeddings of items' texts, when the deployment registers an embeddings function: base64 of 32-bit floats. */
export const storeVectors = sqliteTable(
  "store_vectors",
  {
    itemId: integer("item_id")
      .notNull()
      .references(() => storeItems.id, { onDelete: "cascade" }),
    vector: text("vector").notNull(),
  },
  (table) => [index("store_vectors_item").on(table.itemId)],
);
