/** People: who is a member of a workspace, who is invited, and the sessions of their browsers. Secrets only as SHA-256. */
import { index, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { workspaces } from "../access/table.ts";

const workspaceId = () =>
  text("workspace_id")
    .notNull()
    .references(() => workspaces.id);

/** A person with a role in a workspace: the subject of an OpenID provider. */
export const members = sqliteTable(
  "members",
  {
    id: text("id").primaryKey(),
    workspaceId: workspaceId(),
    issuer: text("issuer").notNull(),
    subject: text("subject").notNull(),
    /** For people who read a list of members. Nothing is decided by it. */
    email: text("email"),
    role: text("role").notNull(),
    createdAt: integer("created_at").notNull(),
    /** When the person last signed in. Null: not yet. */
    signedInAt: integer("signed_in_at"),
  },
  (table) => [
    uniqueIndex("members_person").on(table.workspaceId, table.issuer, table.subject),
    index("members_subject").on(table.subject, table.issuer),
  ],
);

/** A link by which one person becomes a member. */
export const invitations = sqliteTable(
  "invitations",
  {
    id: text("id").primaryKey(),
    workspaceId: workspaceId(),
    hash: text("hash").notNull().unique(),
    role: text("role").notNull(),
    /** Only a person with this verified address may accept. Null: any holder of the link. */
    email: text("email"),
    /** The kind and id of the credential that made it: the link gives no more than that may still give. */
    makerKind: text("maker_kind").notNull(),
    makerId: text("maker_id").notNull(),
    createdAt: integer("created_at").notNull(),
    expiresAt: integer("expires_at").notNull(),
    /** Null: not accepted. */
    acceptedAt: integer("accepted_at"),
    /** Who accepted it. */
    memberId: text("member_id"),
  },
  (table) => [index("invitations_workspace").on(table.workspaceId), index("invitations_expiry").on(table.expiresAt)],
);

/** A browser in which a member is signed in. */
export const memberSessions = sqliteTable(
  "member_sessions",
  {
    id: text("id").primaryKey(),
    hash: text("hash").notNull().unique(),
    memberId: text("member_id").notNull(),
    createdAt: integer("created_at").notNull(),
    /** With an hour's precision. */
    lastUsedAt: integer("last_used_at").notNull(),
    expiresAt: integer("expires_at").notNull(),
    address: text("address"),
    userAgent: text("user_agent"),
  },
  (table) => [index("member_sessions_member").on(table.memberId), index("member_sessions_expiry").on(table.expiresAt)],
);
