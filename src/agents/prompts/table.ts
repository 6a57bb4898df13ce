import type { Json } from "../../lib/json.ts";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

/** Prompts. Times are milliseconds since the epoch. */
export const prompts = sqliteTable(
  "prompts",
  {
    id: text("id").primaryKey(),
    workspaceId: text("workspace_id").notNull(),
    name: text("name").notNull(),
    /** Description and readme, sealed in a workspace that encrypts. */
    about: text("about", { mode: "json" }).$type<Json>().notNull(),
    labels: text("labels", { mode: "json" }).$type<string[]>().notNull(),
    isArchived: integer("is_archived", { mode: "boolean" }).notNull().default(false),
    /** The number of commits, which is also the number of the latest one. */
    commits: integer("commits").notNull().default(0),
    lastHash: text("last_hash"),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [
    uniqueIndex("prompts_name").on(table.workspaceId, table.name),
    index("prompts_updated").on(table.workspaceId, table.updatedAt),
  ],
);

/** Commits of prompts. They are numbered from 1, and the parent of each is the one before it. */
export const promptCommits = sqliteTable(
  "prompt_commits",
  {
    id: text("id").primaryKey(),
    promptId: text("prompt_id").notNull(),
    number: integer("number").notNull(),
    hash: text("hash").notNull(),
    parentId: text("parent_id"),
    parentHash: text("parent_hash"),
    /** JSON, sealed in a workspace that encrypts. */
    manifest: text("manifest").notNull(),
    /** Sealed likewise. */
    description: text("description"),
    author: text("author").notNull(),
    createdAt: integer("created_at").notNull(),
  },
  (table) => [
    uniqueIndex("prompt_commits_number").on(table.promptId, table.number),
    uniqueIndex("prompt_commits_hash").on(table.promptId, table.hash),
  ],
);

/** Names of commits, which people move from one commit to another. */
export const promptTags = sqliteTable(
  "prompt_tags",
  {
    id: text("id").notNull(),
    promptId: text("prompt_id").notNull(),
    name: text("name").notNull(),
    commitId: text("commit_id").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [primaryKey({ columns: [table.promptId, table.name] })],
);

/** Who likes a prompt: a user of the deployment's own `Auth`, or a credential. */
export const promptLikes = sqliteTable(
  "prompt_likes",
  {
    promptId: text("prompt_id").notNull(),
    person: text("person").notNull(),
  },
  (table) => [primaryKey({ columns: [table.promptId, table.person] })],
);
