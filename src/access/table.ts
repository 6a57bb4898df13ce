import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

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
  /** The rules by which traces are masked (traces/masking/schema.ts). */
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
    /** When the key was last used, with an hour's precision. Null: never. */
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

// People: who is a member of a workspace, who is invited, and the sessions of their browsers. Secrets only as SHA-256.

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

// OAuth: clients that registered themselves, what people granted them, and their tokens. Secrets only as SHA-256.

const list = (name: string) => text(name, { mode: "json" }).$type<string[]>().notNull();

export const oauthClients = sqliteTable(
  "oauth_clients",
  {
    id: text("id").primaryKey(),
    name: text("name"),
    clientUri: text("client_uri"),
    logoUri: text("logo_uri"),
    policyUri: text("policy_uri"),
    tosUri: text("tos_uri"),
    /** The client's registered scope: the default of an authorization request without `scope`. */
    scope: text("scope"),
    redirectUris: list("redirect_uris"),
    grantTypes: list("grant_types"),
    responseTypes: list("response_types"),
    createdAt: integer("created_at").notNull(),
    /** When a person last granted this client access. Null until then; such clients are removed after a time. */
    usedAt: integer("used_at"),
  },
  (table) => [index("oauth_clients_unused").on(table.usedAt, table.createdAt)],
);

/** A person's proof of who they are, between signing in and answering the consent page. One use, minutes. */
export const oauthSignIns = sqliteTable("oauth_sign_ins", {
  hash: text("hash").primaryKey(),
  workspaceId: text("workspace_id").notNull(),
  /** The API key's id, or `openid:<subject>`. */
  credentialId: text("credential_id").notNull(),
  scopes: list("scopes"),
  expiresAt: integer("expires_at").notNull(),
});

/** What one person allowed one client once: the family of all tokens that come from it. */
export const oauthGrants = sqliteTable(
  "oauth_grants",
  {
    id: text("id").primaryKey(),
    clientId: text("client_id").notNull(),
    workspaceId: text("workspace_id")
      .notNull()
      .references(() => workspaces.id),
    /** Who allowed it: deleting that API key revokes the grant. */
    credentialId: text("credential_id").notNull(),
    scopes: list("scopes"),
    /** RFC 8707: the path under which the tokens work; null is the whole server. */
    resource: text("resource"),
    createdAt: integer("created_at").notNull(),
    revokedAt: integer("revoked_at"),
    /** When the API key of the person who allowed it expires: the grant ends with it. Null: never. */
    expiresAt: integer("expires_at"),
  },
  (table) => [index("oauth_grants_workspace").on(table.workspaceId), index("oauth_grants_client").on(table.clientId)],
);

export const oauthCodes = sqliteTable("oauth_codes", {
  hash: text("hash").primaryKey(),
  grantId: text("grant_id").notNull(),
  clientId: text("client_id").notNull(),
  redirectUri: text("redirect_uri").notNull(),
  challenge: text("challenge").notNull(),
  resource: text("resource"),
  expiresAt: integer("expires_at").notNull(),
  /** The hash of the access token it was exchanged for. A second use revokes the grant, so used codes are kept. */
  successor: text("successor"),
});

export const oauthTokens = sqliteTable(
  "oauth_tokens",
  {
    hash: text("hash").primaryKey(),
    kind: text("kind").$type<"access" | "refresh">().notNull(),
    grantId: text("grant_id").notNull(),
    scopes: list("scopes"),
    expiresAt: integer("expires_at").notNull(),
    /** The hash of the first access token that this refresh token was exchanged for. Null: it was never used. */
    successor: text("successor"),
    /** The hash of the refresh token that was exchanged for this token. Null: an authorization code was. */
    parent: text("parent"),
  },
  (table) => [
    index("oauth_tokens_grant").on(table.grantId),
    index("oauth_tokens_expiry").on(table.expiresAt),
    index("oauth_tokens_parent").on(table.parent),
  ],
);

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
