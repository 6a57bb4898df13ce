import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** Which A2A tasks there are, for lists over all threads: a projection; the Thread object is the truth about each. */
export const a2aTasks = sqliteTable(
  "a2a_tasks",
  {
    workspaceId: text("workspace_id").notNull(),
    /** `<thread id>:<id of the task's first run>`. */
    id: text("id").notNull(),
    assistantId: text("assistant_id").notNull(),
    threadId: text("thread_id").notNull(),
    state: text("state").notNull(),
    /** Of the status; milliseconds since the epoch. */
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.workspaceId, table.id] }),
    index("a2a_tasks_list").on(table.workspaceId, table.assistantId, table.updatedAt, table.id),
  ],
);
