import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { exactJson } from "../../db/conditions.ts";

/** What a version of an assistant fixes. */
const configuration = {
  graphId: text("graph_id").notNull(),
  name: text("name").notNull(),
  description: text("description"),
  config: exactJson("config").notNull(),
  context: exactJson("context").notNull(),
  metadata: exactJson("metadata").notNull(),
  createdAt: integer("created_at").notNull(),
};

/** Assistants, each row holding a copy of its active version. A default assistant has the same id in every workspace. */
export const assistants = sqliteTable(
  "assistants",
  {
    workspaceId: text("workspace_id").notNull(),
    id: text("id").notNull(),
    version: integer("version").notNull(),
    ...configuration,
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.workspaceId, table.id] }),
    index("assistants_created").on(table.workspaceId, table.createdAt),
    index("assistants_graph").on(table.workspaceId, table.graphId),
  ],
);

/** Every version of every assistant; its primary key is what serialises concurrent updates. */
export const assistantVersions = sqliteTable(
  "assistant_versions",
  {
    workspaceId: text("workspace_id").notNull(),
    assistantId: text("assistant_id").notNull(),
    version: integer("version").notNull(),
    ...configuration,
  },
  (table) => [primaryKey({ columns: [table.workspaceId, table.assistantId, table.version] })],
);
