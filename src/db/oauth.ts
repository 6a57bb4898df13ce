/** OAuth: clients that registered themselves, what people granted them, and their tokens. Secrets only as SHA-256. */
import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { workspaces } from "../access/table.ts";

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
