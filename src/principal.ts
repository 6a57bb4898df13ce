/** Who is calling, and for which workspace. Passed down explicitly; never read from a global. */

/** Who the deployment's own `authenticate` says is calling. */
export interface AppUser {
  identity: string;
  permissions: string[];
  display_name: string;
  is_authenticated: boolean;
  [field: string]: unknown;
}

export const SCOPES = ["read", "write", "exports", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

export interface Principal {
  workspaceId: string;
  scopes: readonly Scope[];
  /**
   * What proved the caller's identity: an API key, the deployment's admin key, an OAuth token, the deployment's own
   * `Auth`, nothing (open mode), a cron of the workspace, or a run that calls its own server.
   */
  kind: "key" | "admin" | "token" | "user" | "open" | "cron" | "run";
  /** The key's, grant's, cron's or run's id, for logs and the audit trail; never the secret. */
  credentialId: string;
  /** The OAuth grant that it came from: of a token, and of a key that a token made. */
  grantId?: string;
  /** SHA-256 of the key or token that was sent. */
  hash?: string;
  /** When the API key stops working, milliseconds since 1970. */
  expiresAt?: number;
  /** The networks (CIDR) from which the API key works. */
  allowedIps?: string[];
  /** Of a call that the project's code makes of its own server: how many such calls it is nested in, itself counted. */
  depth?: number;
  /** The user from the deployment's own `Auth`; its handlers decide what this principal may do. */
  user?: AppUser;
}

/** The organization that all workspaces of a deployment belong to. `X-Organization-Id` on the wire. */
export const ORGANIZATION_ID = "00000000-0000-4000-8000-000000000000";

/** The workspace that `npm start` makes, and that requests without a key act as when `AUTH=open` locally. */
export const LOCAL_WORKSPACE_ID = "00000000-0000-4000-8000-000000000001";
